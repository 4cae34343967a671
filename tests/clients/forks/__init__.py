"""Real clients on forks: a swap on an exchange of another chain."""
