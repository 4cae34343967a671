"""Following other nodes."""
