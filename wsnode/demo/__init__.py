"""Development chains for exploration and tests: accounts, contracts, traffic, and their log."""
