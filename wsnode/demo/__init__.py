"""Development chains to look at and to test against: accounts, contracts, traffic, and what is printed."""
