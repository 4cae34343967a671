"""Texts of development chains."""
