"""evm_… and anvil_… methods that mine blocks, with anvil's parameters, results and aliases."""

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rendering import render_block
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.development.control import BLOCKS_AT_ONCE, ControlError
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import rows
from wsnode.ethereum.rpc.common.parameters import Flag
from wsnode.ethereum.rpc.common.results import NULL, quantity
from wsnode.ethereum.rpc.common.schemas import QUANTITY
from wsnode.ethereum.rpc.debug_traces.methods import DebugTraceMethods
from wsnode.ethereum.rpc.debug_traces.options import TraceOptions
from wsnode.ethereum.rpc.development.parameters import LenientCount, MineOptions, ResetOptions
from wsnode.ethereum.rpc.development.schemas import ALWAYS_TRUE, METADATA, NOTHING, SETTINGS
from wsnode.ethereum.rpc.fees.methods import FIRST_PRICE, head_header
from wsnode.ethereum.rpc.node.methods import development_version
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.parameters import ArgumentOrListParameters, ParameterDecoder
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, list_of, or_null, reference
from wsnode.jsonrpc.work import Await, JsonText, RenderedJson, Step

TRUE: Final = RenderedJson(b"true")
FALSE: Final = RenderedJson(b"false")
ONE: Final = LenientCount(1)
NONE: Final = LenientCount(0)
ONE_BLOCK: Final = MineOptions()
NO_FORK: Final = ResetOptions()
MAX_BLOCKS: Final = 1_000_000
"""Maximum number of blocks of one call: minutes, and more than a gigabyte."""
MAX_DETAILED_BLOCKS: Final = BLOCKS_AT_ONCE
"""Maximum number of blocks of one call of evm_mine_detailed: its reply holds all of them, and no other change
is made meanwhile.
"""

Steps = Generator[Step, Any, bytes]


class MineParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[options]`: the time and the number of the blocks to mine; without options, one block."""

    options: MineOptions = ONE_BLOCK


class MineManyParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[blocks, seconds between two]`: the number of blocks, by default 1, and the seconds between their
    timestamps.
    """

    blocks: LenientCount = ONE
    interval: LenientCount = NONE


class BlockCountParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[number]`, of a snapshot that evm_snapshot returned."""

    number: LenientCount


class DepthParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[depth]`: the number of blocks to remove, by default 1."""

    depth: LenientCount | None = None


class ResetParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[options]`, with the chain and the block of a fork, if any."""

    options: ResetOptions = NO_FORK


class SecondsParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[seconds]`: a duration, or a time since 1970."""

    seconds: LenientCount


class SwitchParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[enabled]`."""

    enabled: Flag


def boolean(value: bool) -> JsonText:
    """Return the JSON text of a truth value."""
    return TRUE if value else FALSE


def done(work: Callable[[], Awaitable[Any]]) -> Generator[Step, Any, Any]:
    """Return the result of `work`, which waits for the chain.

    Raises:
        RpcError: The chain refuses it.
    """
    with refusals():
        return (yield Await(work))


def require_at_most(most: int, blocks: int) -> None:
    """Check that a call asks for at most `most` blocks.

    Raises:
        RpcError: It does.
    """
    if blocks > most:
        raise invalid_params(f"invalid argument 0: more than {most} blocks at once")


@contextmanager
def refusals() -> Iterator[None]:
    """Convert refusals of the chain to JSON-RPC errors.

    Raises:
        RpcError: The chain refuses it.
    """
    try:
        yield
    except ControlError as error:
        raise invalid_params(str(error)) from None


class MiningMethods:
    """Handlers that mine, switch the automatic modes, and return to snapshots."""

    def __init__(self, control: DevelopmentChain) -> None:
        self._control = control

    def mine(self, params: MineParameters) -> Steps:
        """Return `0x0` once the requested blocks are mined."""
        blocks, timestamp = params.options.blocks, params.options.timestamp
        require_at_most(MAX_BLOCKS, blocks)
        yield from done(lambda: self._control.mine(blocks, timestamp=timestamp))
        return quantity(0)

    def mine_many(self, params: MineManyParameters) -> Steps:
        """Return null once the requested blocks are mined."""
        require_at_most(MAX_BLOCKS, params.blocks)
        yield from done(lambda: self._control.mine(params.blocks, interval=params.interval))
        return NULL

    def hardhat_mine(self, params: MineManyParameters) -> Steps:
        """Return true once the requested blocks are mined."""
        yield from self.mine_many(params)
        return TRUE

    def set_automine(self, params: SwitchParameters) -> Steps:
        """Return null once automatic mining is on or off: with it, each transaction gets a block
        immediately.
        """
        yield from done(lambda: self._control.set_automatic(enabled=params.enabled.is_set))
        return NULL

    def get_automine(self) -> JsonText:
        """Return whether automatic mining is on: each transaction gets a block immediately."""
        return boolean(self._control.is_automatic)

    def set_interval(self, params: SecondsParameters) -> JsonText:
        """Return null; from now on a block is mined every `seconds`, or none on a schedule if 0."""
        self._control.set_interval(int(params.seconds))
        return NULL

    def get_interval(self) -> JsonText:
        """Return the seconds between two scheduled blocks, a number, or null without interval mining."""
        interval = self._control.interval
        return NULL if interval is None else f"{interval:.15g}".encode()

    def snapshot(self) -> Steps:
        """Return the number of a new snapshot of the chain, the pool and the clock."""
        return quantity((yield from done(self._control.snapshot)))

    def roll_back(self, params: DepthParameters) -> Steps:
        """Return null once the last `depth` blocks are removed, by default one."""
        depth = 1 if params.depth is None else int(params.depth)
        yield from done(lambda: self._control.roll_back(depth))
        return NULL

    def reset(self, params: ResetParameters) -> Steps:
        """Return null once the chain is back at its first block, or at the one that `forking` names."""
        yield from done(lambda: self._control.reset(params.options.forking))
        return NULL

    def hardhat_reset(self, params: ResetParameters) -> Steps:
        """Return true once the chain is back in its initial state."""
        yield from self.reset(params)
        return TRUE

    def revert(self, params: BlockCountParameters) -> Steps:
        """Return whether the snapshot existed; chain, pool and clock are then restored to it."""
        return boolean((yield from done(lambda: self._control.revert(params.number))))


class UrlParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[url]`, of the forked chain's node."""

    url: str


class ForkUrlMethods:
    """Handler of anvil_setRpcUrl."""

    def __init__(self, control: DevelopmentChain) -> None:
        self._control = control

    def set(self, params: UrlParameters) -> JsonText:
        """Return null; a chain that is no fork has no such node to replace, and stays as it is."""
        if self._control.fork is not None:
            raise invalid_params(
                "a fork keeps its node: anvil_reset with jsonRpcUrl begins again with another one"
            )
        return NULL


class LoggingMethods:
    """Handlers that switch on and off the lines printed for a development chain's events."""

    def __init__(self, control: DevelopmentChain) -> None:
        self._control = control

    def set(self, params: SwitchParameters) -> JsonText:
        """Return null; the log of the chain's events is on or off from now on."""
        self._control.log.enabled = params.enabled.is_set
        return NULL

    def hardhat_set(self, params: SwitchParameters) -> JsonText:
        """Return true; the log of the chain's events is on or off from now on."""
        self.set(params)
        return TRUE


def metadata_of(control: DevelopmentChain) -> Callable[[Snapshot], dict[str, Any]]:
    """Return the handler of anvil_metadata."""
    instance = f"0x{token_hex(32)}"

    def metadata(view: Snapshot) -> dict[str, Any]:
        """Return metadata: client version, chain id, id of this run, head, and open snapshots."""
        snapshots, fork = control.snapshots.items(), control.fork
        return {
            "clientVersion": development_version(),
            "chainId": view.spec.chain_id,
            "instanceId": instance,
            "latestBlockNumber": view.number,
            "latestBlockHash": hexadecimal(view.head.hash),
            "forkedNetwork": None
            if fork is None
            else {
                "chainId": fork.chain_id,
                "forkBlockNumber": fork.block.number,
                "forkBlockHash": hexadecimal(fork.block.hash),
            },
            "snapshots": {hex(number): [head.number, hexadecimal(head.hash)] for number, head in snapshots},
        }

    return metadata


def settings_of(control: DevelopmentChain, pool: TransactionPool) -> Callable[[Snapshot], dict[str, Any]]:
    """Return the handler of anvil_nodeInfo."""

    def settings(view: Snapshot) -> dict[str, Any]:
        """Return the head, its fork, the order of transactions, and base fee and gas limit of the next
        block.
        """
        head, fork = head_header(view), control.fork
        following = control.next_block(head)
        base_fee = following.base_fee_after(view.spec, head) or 0
        return {
            "currentBlockNumber": hex(view.number),
            "currentBlockTimestamp": head.timestamp,
            "currentBlockHash": hexadecimal(view.head.hash),
            "hardFork": view.spec.fork_name(head.number, head.timestamp),
            "transactionOrder": pool.order.value,
            "environment": {
                "baseFee": hex(base_fee),
                "chainId": view.spec.chain_id,
                "gasLimit": hex(following.gas_limit),
                "gasPrice": hex(base_fee + FIRST_PRICE),
            },
            "forkConfig": {
                "forkUrl": None if fork is None else fork.url,
                "forkBlockNumber": None if fork is None else fork.block.number,
                "forkRetryBackoff": None,
            },
        }

    return settings


def add_methods(registry: Registry, control: DevelopmentChain, pool: TransactionPool) -> None:
    """Register this module's methods."""
    mining, logging = MiningMethods(control), LoggingMethods(control)
    fork_url = ForkUrlMethods(control)
    for name in ("anvil_metadata", "hardhat_metadata"):
        registry.method(name, result=METADATA)(metadata_of(control))
    registry.method("anvil_nodeInfo", result=SETTINGS)(settings_of(control, pool))
    # Clients may also send the options themselves, without an array around them.
    options: dict[str, ParameterDecoder] = {
        "evm_mine": ArgumentOrListParameters(MineParameters),
        **dict.fromkeys(("anvil_reset", "hardhat_reset"), ArgumentOrListParameters(ResetParameters)),
    }
    for handler, result, names in (
        (mining.mine, QUANTITY, ("evm_mine",)),
        (mining.mine_many, NOTHING, ("anvil_mine",)),
        (mining.hardhat_mine, ALWAYS_TRUE, ("hardhat_mine",)),
        (mining.set_automine, NOTHING, ("evm_setAutomine", "anvil_setAutomine")),
        (mining.get_automine, BOOLEAN, ("anvil_getAutomine", "hardhat_getAutomine")),
        (mining.set_interval, NOTHING, ("evm_setIntervalMining", "anvil_setIntervalMining")),
        (mining.get_interval, or_null({"type": "number"}), ("anvil_getIntervalMining",)),
        (mining.snapshot, QUANTITY, ("evm_snapshot", "anvil_snapshot")),
        (mining.revert, BOOLEAN, ("evm_revert", "anvil_revert")),
        (mining.roll_back, NOTHING, ("anvil_rollback",)),
        (mining.reset, NOTHING, ("anvil_reset",)),
        (mining.hardhat_reset, ALWAYS_TRUE, ("hardhat_reset",)),
        (fork_url.set, NOTHING, ("anvil_setRpcUrl",)),
        (logging.set, NOTHING, ("anvil_setLoggingEnabled",)),
        (logging.hardhat_set, ALWAYS_TRUE, ("hardhat_setLoggingEnabled",)),
    ):
        for name in names:
            registry.method(name, view=False, result=result, decoder=options.get(name))(handler)


class MinedBlockMethods:
    """Handler of evm_mine_detailed, which returns the mined blocks with their transactions' outputs."""

    def __init__(self, chain: Chain, control: DevelopmentChain, traces: DebugTraceMethods) -> None:
        self._chain = chain
        self._control = control
        self._traces = traces
        self.timed_out = traces.timed_out

    def mine(self, params: MineParameters) -> Steps:
        """Return the list of mined blocks; their transactions have `output` and `revertReason`."""
        count, timestamp = params.options.blocks, params.options.timestamp
        require_at_most(MAX_DETAILED_BLOCKS, count)
        last = yield from done(lambda: self._control.mine(count, timestamp=timestamp))
        blocks = []
        with self._chain.snapshot() as view:
            for number in range(last - count + 1, last + 1):
                blocks.append((yield from self._block(view, number)))
        return b"[%b]" % b",".join(blocks)

    def _block(self, view: Snapshot, number: int) -> Generator[Step, Any, JsonText]:
        found = rows(view, number)
        # Another call may have removed the block meanwhile.
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


def add_detailed_mining(registry: Registry, mined: MinedBlockMethods, limits: CallLimits) -> None:
    """Register the methods that return the mined blocks."""
    for name in ("evm_mine_detailed", "anvil_mine_detailed"):
        registry.method(
            name,
            view=False,
            decoder=ArgumentOrListParameters(MineParameters),
            result=list_of(or_null(reference("MinedBlock"))),
            deadline=limits.trace_max_seconds,
            timeout_error=mined.timed_out,
        )(mined.mine)
