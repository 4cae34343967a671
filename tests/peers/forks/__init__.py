"""Forks of the protocol beside other nodes."""
