"""web3.py's own tests of a node, and what they want to find there. They run in a process of their own."""
