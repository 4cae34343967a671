"""A chain on several machines: the journal of its blocks, which one process writes and replicas execute."""
