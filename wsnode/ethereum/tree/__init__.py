"""Tree of blocks: the status of each block, and the head, which is changed nowhere else."""
