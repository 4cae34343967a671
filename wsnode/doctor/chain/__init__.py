"""An EVM chain's folder, table by table."""
