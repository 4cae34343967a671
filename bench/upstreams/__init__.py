"""Scripts that measure what is asked of other nodes: by forks, and by light folders."""
