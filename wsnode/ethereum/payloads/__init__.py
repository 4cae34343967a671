"""Payloads: blocks that a consensus client has the node build, verify and choose as the head."""
