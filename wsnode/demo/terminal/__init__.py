"""Texts for the person at the terminal: messages of contracts, and calls of transactions."""
