"""The parent: it accepts connections, passes each to a worker, and brings workers together."""
