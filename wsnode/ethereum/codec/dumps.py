"""State dumps in anvil's format, read by the engine."""

from wsnode._native.evm import read_dump

__all__ = ["read_dump"]
