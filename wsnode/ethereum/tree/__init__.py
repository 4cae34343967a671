"""The tree of blocks: what is known of each, and the head, which changes nowhere else."""
