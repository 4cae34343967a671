"""Chains that are driven, as the tests of the Engine API's methods have them."""

from tests.ethereum.rpc.engine.conftest import open_driven

__all__ = ["open_driven"]
