"""What no node can take less than."""
