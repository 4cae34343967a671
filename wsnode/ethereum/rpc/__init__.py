"""Ethereum's RPC methods, one folder for each subject: from parameters to values of the chain and back."""
