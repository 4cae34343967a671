"""Chains with rules of their own: forks of them, and what light folders tell of them."""
