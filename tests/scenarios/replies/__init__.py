"""Twenty thousand messages of a seeded generator, and the replies that were recorded to them."""
