"""What subscribers and filters are told: events out of the store, from any position to the head."""
