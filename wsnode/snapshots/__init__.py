"""Copies of a data folder: taken beside its writer, and restored to folders."""
