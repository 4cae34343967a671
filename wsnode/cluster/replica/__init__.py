"""A chain that repeats what a journal tells: each record executed here, and its outcome compared."""
