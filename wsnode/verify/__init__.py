"""Cases of requests and expected replies, run on a node over HTTP and WebSocket, and comparison of two
nodes.
"""
