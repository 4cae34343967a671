"""Errors of blocks and states that are not there."""

from wsnode.ethereum.codes import PRUNED_HISTORY
from wsnode.jsonrpc.errors import RpcError, server_error


def header_not_found() -> RpcError:
    """Return the error of what reads state after a block that the chain does not have."""
    return server_error("header not found")


def pruned_history(requested: int, earliest: int) -> RpcError:
    """Return the error for a block below the first one that a folder with a window has."""
    return _pruned({"requested": hex(requested), "earliest": hex(earliest)})


def no_state(reason: str = "no state in a light folder") -> RpcError:
    """Return the error of what needs state that a light folder cannot have."""
    return _pruned({"reason": reason})


def history_unavailable(reason: str) -> RpcError:
    """Return the error for what is below the first block of a forked chain, and cannot be had."""
    return _pruned({"reason": reason})


def _pruned(data: dict[str, str]) -> RpcError:
    return RpcError(PRUNED_HISTORY, "pruned history unavailable", data)
