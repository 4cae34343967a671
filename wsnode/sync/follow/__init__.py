"""Following of other nodes: announced blocks are fetched, executed, and made the head."""
