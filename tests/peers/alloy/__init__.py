"""alloy, whose provider's tests start `anvil`."""
