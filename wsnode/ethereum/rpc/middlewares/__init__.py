"""Middlewares of methods, before and after their handlers: wait for blocks, fetch state, ask another node."""
