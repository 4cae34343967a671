"""The page at `/`: what a node does, seen in a browser, and its methods to try."""
