"""A Starknet chain that follows other nodes, as a service of its network."""
