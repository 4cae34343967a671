"""Nodes under attack: kept within their memory and started again, and the rows of what was measured."""
