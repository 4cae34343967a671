"""Hardhat 3 with its network helpers and chai matchers against `wsnode dev`."""
