"""Events of subscriptions and filters, read from the store from any position to the head."""
