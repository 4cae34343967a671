"""Copies of data folders, and folders out of them."""
