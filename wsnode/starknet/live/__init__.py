"""The events of an alt chain's subscriptions, read from the store: new blocks and reorganisations."""
