"""Imports: sources of blocks, and the importer that verifies and appends them."""
