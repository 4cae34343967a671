"""Load on any node over WebSocket: requests sampled from its own chain, and how soon they are answered."""
