"""Heads that the beacon chain's sync committee has signed: asked of beacon nodes, and proved here."""
