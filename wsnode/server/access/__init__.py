"""Who may do what: hosts and origins, networks and paths, keys, grants and shares."""
