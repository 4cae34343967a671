"""Requests recorded in a file, sent to a node again."""
