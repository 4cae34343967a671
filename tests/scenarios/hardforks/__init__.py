"""Whole processes across hard forks: what light folders, old folders and logs make of them."""
