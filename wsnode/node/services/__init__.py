"""Services that extend a served chain: other nodes, a consensus client, or a chain that it was forked
from.
"""
