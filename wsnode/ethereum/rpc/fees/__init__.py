"""Methods about fees: of the next block, advised, and in the past."""
