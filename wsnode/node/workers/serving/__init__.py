"""A worker: it serves the connections that the parent passes to it, or follows for all of them."""
