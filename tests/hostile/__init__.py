"""What clients do who want to hurt others, and what it may cost at most: counted, not timed."""
