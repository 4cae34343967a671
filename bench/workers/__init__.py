"""Nodes of several processes: how connections are shared, what they cost, and what a killed worker costs."""
