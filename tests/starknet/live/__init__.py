"""Events of a Starknet chain's subscriptions."""
