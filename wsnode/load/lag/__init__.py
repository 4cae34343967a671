"""Lag of notifications: blocks made on a node, and the times at which subscribers receive them."""
