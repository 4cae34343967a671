"""Pool of transactions that wait for a block: admission, order and eviction."""
