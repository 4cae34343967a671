"""The events of a Starknet chain's subscriptions, read from the store: new blocks and reorganisations."""
