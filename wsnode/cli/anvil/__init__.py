"""`wsnode anvil`: a development chain with the flags and the output of anvil."""
