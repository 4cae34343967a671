"""What makes a served chain grow: other nodes, a consensus client, or a chain that it was forked from."""
