"""Errors of blocks and states that the node does not have."""

from wsnode.ethereum.codes import PRUNED_HISTORY
from wsnode.jsonrpc.errors import RpcError, server_error


def header_not_found() -> RpcError:
    """Return the error for state after a block that is not on the chain."""
    return server_error("header not found")


def pruned_history(requested: int, earliest: int) -> RpcError:
    """Return the error for a block below the first one of a folder with a window."""
    return _pruned({"requested": hex(requested), "earliest": hex(earliest)})


def no_state(reason: str = "no state in a light folder") -> RpcError:
    """Return the error for state that a light folder cannot get."""
    return _pruned({"reason": reason})


def history_unavailable(reason: str) -> RpcError:
    """Return the error for history below a forked chain's first block that cannot be fetched."""
    return _pruned({"reason": reason})


def _pruned(data: dict[str, str]) -> RpcError:
    return RpcError(PRUNED_HISTORY, "pruned history unavailable", data)
