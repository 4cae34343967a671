"""What was measured: as lines of text, as JSON, and as a page."""
