"""Ethereum's part of the OpenRPC document: parameters, results and errors by method."""
