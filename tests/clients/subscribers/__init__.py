"""Programs that subscribe plainly, each with a library of its own, and what they are connected through."""
