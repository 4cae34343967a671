"""Public chains by name: a row of the table says what is known of a chain, and what is served of it."""
