"""Cheap calls beside heavy ones, and beside a client that does not read."""
