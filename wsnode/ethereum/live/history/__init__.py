"""Events below the first block of a forked chain, for subscriptions that begin there."""
