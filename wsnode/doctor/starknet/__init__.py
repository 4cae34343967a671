"""Checks of a Starknet chain's folder, table by table."""
