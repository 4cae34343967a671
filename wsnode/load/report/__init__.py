"""Reports of measurements: as lines of text, as JSON, and as a page."""
