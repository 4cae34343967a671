"""The cost of values that are sent when they change, beside values that are asked for."""
