"""Clients as their users run them, against the real node: web3.py, ethers, viem and a wallet in a page."""
