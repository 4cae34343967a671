"""Access control: hosts and origins, networks and paths, API keys, their rights and quotas."""
