"""Methods about accounts: balances, code, slots, proofs, what blocks changed."""
