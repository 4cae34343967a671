"""A chain on several machines: what its journal costs, and how late subscribers of replicas are."""
