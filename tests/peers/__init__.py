"""Other nodes that the same requests are put to: found on the path, where `.ci/run` installs them."""
