"""Worker: it serves the connections that the parent passes to it, or follows other nodes for all workers."""
