"""A chain that repeats what a journal tells."""
