"""Sockets: accept, read the head, speak WebSocket or HTTP, hand requests to a dispatcher, send replies."""
