"""Light clients of others, as programs that print what they prove."""
