"""A folder that keeps a window of blocks: where it begins, what verifies its blocks, and its lower end."""
