"""Load on any node over WebSocket: requests sampled from its own chain, and the latencies of their
answers.
"""
