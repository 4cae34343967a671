"""Development chain: blocks built from a pool, and changes of the chain and its state as tests request
them.
"""
