"""A mix of calls on many connections: its requests, the runs, steps of a ramp, and intervals of time."""
