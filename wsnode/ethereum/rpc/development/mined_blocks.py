"""evm_mine_detailed: mines blocks and returns them with their transactions' outputs."""

from collections.abc import Generator
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rendering import render_block
from wsnode.ethereum.development.control import BLOCKS_AT_ONCE, DevelopmentControl
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import rows
from wsnode.ethereum.rpc.debug_traces.methods import DebugTraceMethods
from wsnode.ethereum.rpc.debug_traces.options import TraceOptions
from wsnode.ethereum.rpc.development.mining import MineParameters, Steps, done, require_at_most
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.parameters import ArgumentOrListParameters
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, or_null, reference
from wsnode.jsonrpc.work import Step

MOST_BLOCKS: Final = BLOCKS_AT_ONCE
"""Maximum number of blocks of one call: its reply holds all of them, and no other change is made
meanwhile.
"""


class MinedBlockMethods:
    """The method of one development chain."""

    def __init__(self, chain: Chain, control: DevelopmentControl, traces: DebugTraceMethods) -> None:
        self._chain = chain
        self._control = control
        self._traces = traces
        self.timed_out = traces.timed_out

    def mine(self, params: MineParameters) -> Steps:
        """Return the list of mined blocks; their transactions have `output` and `revertReason`."""
        count, timestamp = params.options.blocks, params.options.timestamp
        require_at_most(MOST_BLOCKS, count)
        last = yield from done(lambda: self._control.mine(count, timestamp=timestamp))
        blocks = []
        with self._chain.snapshot() as view:
            for number in range(last - count + 1, last + 1):
                blocks.append((yield from self._block(view, number)))
        return b"[%b]" % b",".join(blocks)

    def _block(self, view: Snapshot, number: int) -> Generator[Step, Any, bytes]:
        found = rows(view, number)
        # Another call may have removed it meanwhile.
        text = b"null" if found is None else render_block(*found, full=True)
        block = msgspec.json.decode(text)
        if found is None or not block["transactions"]:
            return text
        traced = yield from self._traces.trace_stored(view, found, _outermost_calls(), None)
        for transaction, trace in zip(block["transactions"], msgspec.json.decode(traced), strict=True):
            transaction |= _outcome(trace["result"])
        return msgspec.json.encode(block)


def _outermost_calls() -> TraceOptions:
    options = TraceOptions()
    options.tracer, options.tracer_config = "callTracer", {"onlyTopCall": True}
    return options


def _outcome(call: dict[str, Any]) -> dict[str, str]:
    """Return the output of a transaction, and its revert reason; empty if it halted."""
    if "error" in call and call["error"] != "execution reverted":
        return {}
    output = {"output": call.get("output", "0x")}
    return output | ({"revertReason": call["revertReason"]} if "revertReason" in call else {})


def add_methods(registry: Registry, mined: MinedBlockMethods, limits: CallLimits) -> None:
    """Register this module's method."""
    for name in ("evm_mine_detailed", "anvil_mine_detailed"):
        registry.method(
            name,
            view=False,
            decoder=ArgumentOrListParameters(MineParameters),
            result=list_of(or_null(reference("MinedBlock"))),
            deadline=limits.trace_longest_seconds,
            timeout_error=mined.timed_out,
        )(mined.mine)
