"""What an EVM chain keeps in the chain store, table by table."""
