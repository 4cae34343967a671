"""Command line: one module for each command, and shared ones."""
