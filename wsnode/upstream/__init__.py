"""Client of other nodes: speaks JSON-RPC, and knows nothing of chains."""
