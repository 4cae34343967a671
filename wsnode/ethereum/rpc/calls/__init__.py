"""Methods that execute calls: eth_call, estimates, access lists, simulated blocks."""
