"""What anvil prints, reads and writes beside its chain."""
