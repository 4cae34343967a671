"""The tree of blocks: the status of each, and the head, which changes nowhere else."""
