"""debug_executionWitness: the data with which a stateless client executes a block."""

from collections.abc import Generator
from typing import Any

from wsnode.ethereum.codec.rendering import render_header
from wsnode.ethereum.codec.rows import Rows, header_fields
from wsnode.ethereum.not_found import no_state
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import require_kept
from wsnode.ethereum.rpc.common.parameters import BlockParameters
from wsnode.ethereum.rpc.common.pending_state import PendingState, block_rows, check_parent, written
from wsnode.ethereum.rpc.common.results import HISTORY_ERRORS
from wsnode.ethereum.rpc.common.worker_thread import in_worker
from wsnode.ethereum.rpc.debug_traces.schemas import WITNESS
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import InvalidBlockError, InvalidTransactionError, execution_witness
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.work import ReplyChunks, Step


class WitnessMethods:
    """Handler of debug_executionWitness, within the limits of calls."""

    def __init__(self, limits: CallLimits, pending: PendingState) -> None:
        self._limits = limits
        self._pending = pending
        self.timed_out = server_error("execution timeout")

    def execution_witness(self, view: Snapshot, params: BlockParameters) -> Generator[Step, Any, ReplyChunks]:
        """Return `{headers, codes, state}`: the headers, code and trie nodes to execute a block without
        state.
        """
        if view.is_light:
            raise no_state("this node is light and cannot make witnesses: ask a node that executes blocks")
        found = yield from block_rows(view, params.block, self._pending)
        number = header_fields(found[0]).number
        if number == 0:
            raise server_error(f"block {written(params.block)} found, but parent missing")
        check_parent(view, found)
        return (yield from self._witness(view, found, number))

    def _witness(self, view: Snapshot, found: Rows, number: int) -> Generator[Step, Any, ReplyChunks]:
        changes, size = self._limits.history_bytes, self._limits.witness_bytes
        try:
            state_root, codes, nodes, oldest = yield from in_worker(
                lambda flag: execution_witness(view.state, found, changes=changes, found=size, cancel=flag),
                self.timed_out,
            )
        except (InvalidBlockError, InvalidTransactionError) as error:
            raise server_error(str(error)) from None
        require_kept(view, oldest)
        ancestors = [_header(view, ancestor) for ancestor in range(oldest, number)]
        if header_fields(ancestors[-1]).state_root != state_root:
            # No header commits to the changes that a development chain's methods made to the state.
            raise server_error(f"the state after block {number - 1} was changed: nothing proves it")
        headers = b",".join(map(render_header, ancestors))
        return ReplyChunks(
            (b'{"headers":[', headers, b'],"codes":', codes, b',"state":', nodes, b',"keys":null}')
        )


def _header(view: Snapshot, number: int) -> bytes:
    row = view.header(number)
    assert row is not None, "the ancestors of a canonical block are stored"
    return row


def add_methods(registry: Registry, limits: CallLimits, pending: PendingState) -> None:
    """Register this module's method."""
    witnesses = WitnessMethods(limits, pending)
    registry.method(
        "debug_executionWitness",
        result=WITNESS,
        errors=HISTORY_ERRORS,
        deadline=limits.trace_max_seconds,
        timeout_error=witnesses.timed_out,
    )(witnesses.execution_witness)
