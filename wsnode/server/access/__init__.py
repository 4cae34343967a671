"""Access control: hosts and origins, networks and paths, keys, grants and shares."""
