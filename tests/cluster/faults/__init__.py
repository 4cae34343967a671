"""A whole cluster under faults that are drawn from a seed, and a checker of what its clients were told."""
