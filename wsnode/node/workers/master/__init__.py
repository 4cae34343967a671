"""Parent of workers: accepts connections, passes each to a worker, and relays between workers."""
