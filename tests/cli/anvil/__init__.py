"""`wsnode anvil` as a process of its own."""
