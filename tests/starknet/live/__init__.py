"""Events of an alt chain's subscriptions."""
