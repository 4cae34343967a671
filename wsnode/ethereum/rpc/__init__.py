"""Ethereum's methods, a folder a subject: parameters to the chain's values and back, no more."""
