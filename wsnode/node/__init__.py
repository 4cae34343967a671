"""A node put together: its configuration, its networks, and the run of all of it."""
