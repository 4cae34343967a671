"""Errors of the Engine API (execution-apis, src/engine/common.md)."""

from wsnode.ethereum.codes import (
    INVALID_FORKCHOICE_STATE,
    INVALID_PAYLOAD_ATTRIBUTES,
    TOO_LARGE_REQUEST,
    UNKNOWN_PAYLOAD,
    UNSUPPORTED_FORK,
)
from wsnode.jsonrpc.errors import INTERNAL_ERROR, RpcError


def unknown_payload() -> RpcError:
    """Return the error for an identity under which nothing is built."""
    return RpcError(UNKNOWN_PAYLOAD, "Unknown payload")


def invalid_forkchoice_state(reason: str) -> RpcError:
    """Return the error for blocks that are not on one chain."""
    return RpcError(INVALID_FORKCHOICE_STATE, f"Invalid forkchoice state: {reason}")


def invalid_payload_attributes(reason: str) -> RpcError:
    """Return the error for attributes of which no payload is built."""
    return RpcError(INVALID_PAYLOAD_ATTRIBUTES, f"Invalid payload attributes: {reason}")


def too_large_request(most: int) -> RpcError:
    """Return the error for more than `most` blocks or blobs in one call."""
    return RpcError(TOO_LARGE_REQUEST, f"Too large request: at most {most} at once")


def not_stored() -> RpcError:
    """Return the error for a call that a full or failing disk keeps from being answered."""
    return RpcError(INTERNAL_ERROR, "blocks cannot be stored at the moment")


def unsupported_fork(method: str) -> RpcError:
    """Return the error for a payload that another version of the method is for."""
    return RpcError(UNSUPPORTED_FORK, f"Unsupported fork: {method} is not for payloads of that time")
