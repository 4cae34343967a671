"""An alt chain's folder, table by table."""
