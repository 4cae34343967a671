"""Methods below the first block of a forked chain."""
