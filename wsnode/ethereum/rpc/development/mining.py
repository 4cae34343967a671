"""evm_… and anvil_…: blocks on demand. Parameters and results are anvil's, under all its names."""

from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from secrets import token_hex
from typing import Any, Final

import msgspec

from wsnode.ethereum.development.control import ControlError, DevelopmentControl
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.rpc.development.parameters import LenientCount, MineOptions, ResetOptions
from wsnode.ethereum.rpc.development.schemas import ALWAYS_TRUE, METADATA, NOTHING, SETTINGS
from wsnode.ethereum.rpc.fees.methods import FIRST_PRICE, head_header
from wsnode.ethereum.rpc.form.parameters import Flag
from wsnode.ethereum.rpc.form.results import NULL, quantity
from wsnode.ethereum.rpc.form.schemas import QUANTITY
from wsnode.ethereum.rpc.node.methods import development_version
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import invalid_params
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, or_null
from wsnode.jsonrpc.work import AsyncCall, Rendered, Step

TRUE: Final = Rendered(b"true")
FALSE: Final = Rendered(b"false")
ONE: Final = LenientCount(1)
NONE: Final = LenientCount(0)
ONE_BLOCK: Final = MineOptions()
NO_FORK: Final = ResetOptions()
MOST_BLOCKS: Final = 1_000_000
"""Blocks of one call: minutes, and more than a gigabyte."""

Steps = Generator[Step, Any, bytes]


class MineParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[options]`."""

    options: MineOptions = ONE_BLOCK


class MineManyParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[blocks, seconds between two]`."""

    blocks: LenientCount = ONE
    interval: LenientCount = NONE


class NumberParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[number]`."""

    number: LenientCount


class DepthParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[depth]`."""

    depth: LenientCount | None = None


class ResetParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[options]`, which say what to fork, and nothing can be forked."""

    options: ResetOptions = NO_FORK


class SecondsParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[seconds]`."""

    seconds: LenientCount


class SwitchParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[enabled]`."""

    enabled: Flag


def boolean(value: bool) -> bytes:
    """Return the JSON text of a truth value."""
    return TRUE if value else FALSE


def done(work: Callable[[], Awaitable[Any]]) -> Generator[Step, Any, Any]:
    """Return what `work` does, which waits for the chain.

    Raises:
        RpcError: The chain refuses it.
    """
    with refusals():
        return (yield AsyncCall(work))


def require_at_most(most: int, blocks: int) -> None:
    """Return if a call does not ask for more than `most` blocks.

    Raises:
        RpcError: It does.
    """
    if blocks > most:
        raise invalid_params(f"invalid argument 0: more than {most} blocks at once")


@contextmanager
def refusals() -> Iterator[None]:
    """Turn what the chain refuses into an error for the caller.

    Raises:
        RpcError: The chain refuses it.
    """
    try:
        yield
    except ControlError as error:
        raise invalid_params(str(error)) from None


class Mining:
    """Blocks on demand, and when there are some without."""

    def __init__(self, control: DevelopmentControl) -> None:
        self._control = control

    def mine(self, params: MineParameters) -> Steps:
        """Return 0x0 when the blocks are there."""
        blocks, timestamp = params.options.blocks, params.options.timestamp
        require_at_most(MOST_BLOCKS, blocks)
        yield from done(lambda: self._control.mine(blocks, timestamp=timestamp))
        return quantity(0)

    def mine_many(self, params: MineManyParameters) -> Steps:
        """Return null when the blocks are there."""
        require_at_most(MOST_BLOCKS, params.blocks)
        yield from done(lambda: self._control.mine(params.blocks, interval=params.interval))
        return NULL

    def hardhat_mine(self, params: MineManyParameters) -> Steps:
        """Return true when the blocks are there."""
        yield from self.mine_many(params)
        return TRUE

    def set_automine(self, params: SwitchParameters) -> Steps:
        """Return null when each transaction gets a block at once, or none does any longer."""
        yield from done(lambda: self._control.set_automatic(enabled=params.enabled.is_set))
        return NULL

    def get_automine(self) -> bytes:
        """Return whether each transaction gets a block at once."""
        return boolean(self._control.is_automatic)

    def set_interval(self, params: SecondsParameters) -> bytes:
        """Return null; there is a block every so many seconds from now on, or with 0 none by itself."""
        self._control.set_interval(int(params.seconds))
        return NULL

    def get_interval(self) -> bytes:
        """Return the seconds between two blocks, null if they do not come at regular times."""
        interval = self._control.interval
        return NULL if interval is None else f"{interval:.15g}".encode()

    def snapshot(self) -> Steps:
        """Return a number for the chain, the pool and the clock as they are now."""
        return quantity((yield from done(self._control.snapshot)))

    def roll_back(self, params: DepthParameters) -> Steps:
        """Return null when so many blocks are gone, one if nothing is said."""
        depth = 1 if params.depth is None else int(params.depth)
        yield from done(lambda: self._control.roll_back(depth))
        return NULL

    def reset(self, _params: ResetParameters) -> Steps:
        """Return null when the chain is as it was in the beginning."""
        yield from done(self._control.reset)
        return NULL

    def hardhat_reset(self, params: ResetParameters) -> Steps:
        """Return true when the chain is as it was in the beginning."""
        yield from self.reset(params)
        return TRUE

    def revert(self, params: NumberParameters) -> Steps:
        """Return whether chain, pool and clock are as they were at the snapshot of that number."""
        return boolean((yield from done(lambda: self._control.revert(params.number))))


class Logging:
    """Whether what happens on the chain is printed."""

    def __init__(self, control: DevelopmentControl) -> None:
        self._control = control

    def set(self, params: SwitchParameters) -> bytes:
        """Return null; what happens is printed from now on, or no longer."""
        self._control.log.enabled = params.enabled.is_set
        return NULL

    def hardhat_set(self, params: SwitchParameters) -> bytes:
        """Return true; what happens is printed from now on, or no longer."""
        self.set(params)
        return TRUE


def metadata_of(control: DevelopmentControl) -> Callable[[Snapshot], dict[str, Any]]:
    """Return the method that tells what chain this is, of which run."""
    instance = f"0x{token_hex(32)}"

    def metadata(view: Snapshot) -> dict[str, Any]:
        """Return what chain this is, of which run, and where it stands."""
        snapshots = control.snapshots.items()
        return {
            "clientVersion": development_version(),
            "chainId": view.spec.chain_id,
            "instanceId": instance,
            "latestBlockNumber": view.head,
            "latestBlockHash": hexadecimal(view.head_hash),
            "forkedNetwork": None,
            "snapshots": {hex(number): [head.number, hexadecimal(head.hash)] for number, head in snapshots},
        }

    return metadata


def settings_of(control: DevelopmentControl, pool: TransactionPool) -> Callable[[Snapshot], dict[str, Any]]:
    """Return the method that tells where the chain stands and what the next block will be like."""

    def settings(view: Snapshot) -> dict[str, Any]:
        """Return where the chain stands, under which rules, and what the next block asks for."""
        head = head_header(view)
        following = control.next_block(head)
        base_fee = following.base_fee_after(view.spec, head) or 0
        return {
            "currentBlockNumber": hex(view.head),
            "currentBlockTimestamp": head.timestamp,
            "currentBlockHash": hexadecimal(view.head_hash),
            "hardFork": view.spec.fork_name(head.number, head.timestamp),
            "transactionOrder": pool.order.value,
            "environment": {
                "baseFee": hex(base_fee),
                "chainId": view.spec.chain_id,
                "gasLimit": hex(following.gas_limit),
                "gasPrice": hex(base_fee + FIRST_PRICE),
            },
            "forkConfig": {"forkUrl": None, "forkBlockNumber": None, "forkRetryBackoff": None},
        }

    return settings


def add_methods(registry: Registry, control: DevelopmentControl, pool: TransactionPool) -> None:
    """Register this module's methods."""
    mining, logging = Mining(control), Logging(control)
    for name in ("anvil_metadata", "hardhat_metadata"):
        registry.method(name, result=METADATA)(metadata_of(control))
    registry.method("anvil_nodeInfo", result=SETTINGS)(settings_of(control, pool))
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
        (logging.set, NOTHING, ("anvil_setLoggingEnabled",)),
        (logging.hardhat_set, ALWAYS_TRUE, ("hardhat_setLoggingEnabled",)),
    ):
        for name in names:
            registry.method(name, view=False, result=result)(handler)
