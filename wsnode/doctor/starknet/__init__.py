"""A Starknet chain's folder, table by table."""
