"""Chain on several machines: one process writes a journal of its blocks, and replicas execute them."""
