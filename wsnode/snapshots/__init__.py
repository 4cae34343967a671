"""Copies of a data folder: taken beside its writer, and folders made of them again."""
