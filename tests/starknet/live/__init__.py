"""What subscribers of an alt chain are told."""
