"""Chains that grow while they are served: the tasks beside the server."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

import msgspec

from wsnode.demo.accounts import Account
from wsnode.demo.narration import Narrator
from wsnode.demo.traffic import Settle, Traffic
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.development.control import ForkedFrom
from wsnode.ethereum.development.forks import Forks
from wsnode.ethereum.development.maker import FEE_RECIPIENT
from wsnode.ethereum.pool.order import Order
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.development.methods import Development
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.jsonrpc.registry import Registry
from wsnode.node.networks import Growth, Opened
from wsnode.server.upkeep.printing import Printer


class DevelopmentSettings(msgspec.Struct, frozen=True):
    """Seconds between two blocks, 0 for a block on each transaction; whose transactions the node signs."""

    block_time: float
    accounts: Sequence[Account]
    fee_recipient: Address = FEE_RECIPIENT
    order: Order = Order.FEES
    base_fee: int | None = None
    """Of the first block after those that are there, in wei; what follows from them if None."""
    tells_every_failure: bool = False
    fork: ForkedFrom | None = None
    funds: bytes | None = None
    """What accounts of a forked chain are given anew after a reset."""
    refork: "Refork | None" = None
    """How the chain would begin on another block, if it can."""


Refork: TypeAlias = Callable[[Opened], Forks]


class Live:
    """Runs the makers of a network's chains; called once the chains are open."""

    def __init__(
        self, settings: DevelopmentSettings, printer: Printer | None = None, *, with_traffic: bool
    ) -> None:
        """With a `printer`, events of the chain are printed."""
        self._settings = settings
        self._printer = printer
        self._with_traffic = with_traffic
        self.folder: ChainFolder | None = None
        """Where the chain lies in the end."""

    @contextmanager
    def __call__(self, opened: Opened) -> Iterator[Growth]:
        """Return what makes blocks, until the network is closed."""
        settings = self._settings
        chain = DevelopmentChain(
            opened.ethereum,
            opened.pool,
            opened.hub,
            block_time=settings.block_time,
            fee_recipient=settings.fee_recipient,
            gas_limit=opened.gas_limit,
            funds=settings.funds,
            fork=settings.fork,
            forks=None if settings.refork is None else settings.refork(opened),
        )
        opened.pool.order = settings.order
        if settings.base_fee is not None:
            chain.set_next_base_fee(settings.base_fee)
        background = [chain.run]
        if self._with_traffic and settings.block_time:
            background.append(_traffic(opened, settings.block_time, chain.settle).run)
        secrets = [account.secret for account in settings.accounts]
        development = Development(chain, secrets)
        with self._told(opened, chain) as watch, _grown_starknet(opened) as others:
            yield Growth(development, [*background, *others], watch)
        self.folder = opened.ethereum.folder

    @contextmanager
    def _told(self, opened: Opened, chain: DevelopmentChain) -> Iterator[Callable[[Registry], None] | None]:
        """Yield the function that has calls of a network's methods printed, None without a printer."""
        if self._printer is None:
            yield None
            return
        every = self._settings.tells_every_failure
        narrator = Narrator(self._printer, opened.ethereum, chain.log, tells_every_failure=every)
        opened.hub.on_change.append(narrator.tell_change)
        try:
            yield narrator.watch
        finally:
            narrator.end()


@contextmanager
def _grown_starknet(opened: Opened) -> Iterator[Sequence[Callable[[], Awaitable[None]]]]:
    if opened.starknet is None or opened.starknet_hub is None:
        yield ()
        return
    # Only the demo has an alt chain.
    from wsnode.demo.starknet_chain import LiveStarknet

    starknet = LiveStarknet(opened.starknet, opened.starknet_hub.advance)
    try:
        yield (starknet.run,)
    finally:
        starknet.close()


def _traffic(opened: Opened, block_time: float, settle: Settle) -> Traffic:
    def next_nonce(address: bytes) -> int:
        with opened.ethereum.snapshot() as view:
            return opened.pool.next_nonce(address, view)

    seed = opened.ethereum.head.number
    return Traffic(
        opened.ethereum.spec, next_nonce, opened.pool.add, settle, block_time=block_time, seed=seed
    )
