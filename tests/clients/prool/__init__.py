"""prool, with which viem's tests start anvil."""
