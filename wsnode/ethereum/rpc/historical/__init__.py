"""Methods about what lies below the first block of a chain that begins on another chain's."""
