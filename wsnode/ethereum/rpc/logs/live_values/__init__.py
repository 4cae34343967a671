"""Kinds of eth_subscribe to values of the state: accounts and slots, and outcomes of calls."""
