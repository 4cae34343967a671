"""What anvil prints, reads and writes."""
