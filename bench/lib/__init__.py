"""What the benchmarks share: nodes, cases, clients, and the figures' text."""
