"""Methods about transactions: stored, pooled, sent, filled in, forwarded."""
