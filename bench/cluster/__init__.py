"""A chain on several machines: what its journal costs, and how soon subscribers of replicas are told."""
