"""Load on any node over WebSocket: requests sampled from its own chain, and latencies of their answers."""
