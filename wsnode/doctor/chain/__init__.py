"""Checks of an EVM chain's folder, table by table."""
