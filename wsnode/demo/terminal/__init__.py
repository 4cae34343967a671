"""Texts for the person at the terminal: what contracts say, and which calls a transaction made."""
