"""Attacks by clients, and the most that they may cost: counted, not timed."""
