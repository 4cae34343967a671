"""Mix of calls on many connections: its requests, runs, ramps, and intervals of time."""
