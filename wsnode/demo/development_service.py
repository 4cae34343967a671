"""Service of a development chain: its block maker and its tasks beside the server."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from wsnode.demo.accounts import FundedAccount
from wsnode.demo.terminal.event_printer import EventPrinter, EventPrinterSettings
from wsnode.ethereum.development.builder import EPOCH
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.development.control import ForkedFrom, ForkFactory
from wsnode.ethereum.development.maker import FEE_RECIPIENT
from wsnode.ethereum.pool.order import TransactionOrder
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.development.methods import DevelopmentSetup
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.jsonrpc.registry import Registry
from wsnode.node.networks import ChainService, OpenChains
from wsnode.server.observability.printing import Printer

if TYPE_CHECKING:
    from wsnode.demo.traffic import Settle, TrafficGenerator


class DevelopmentSettings(msgspec.Struct, frozen=True):
    """Settings of a development chain; the node signs transactions of `accounts`.

    `block_time` is in seconds, 0 for a block on each transaction.
    """

    block_time: float
    accounts: Sequence[FundedAccount]
    fee_recipient: Address = FEE_RECIPIENT
    order: TransactionOrder = TransactionOrder.FEES
    gas_price: int | None = None
    """Gas price in wei that is advised before London; None for the price of recent blocks."""
    on_request: bool = False
    """True to make blocks on request alone."""
    epoch: int = EPOCH
    """Blocks from the head down to the safe one."""
    impersonates_all: bool = False
    time: int | None = None
    """Time at which the clock begins, in seconds since 1970; None for the system's."""
    telling: EventPrinterSettings = EventPrinterSettings()
    fork: ForkedFrom | None = None
    refork: "Refork | None" = None
    """Maker of the factory that moves the chain to another block, None if it cannot move."""
    page: Mapping[str, Any] = {}
    """Settings of accounts and contracts for the page at `/`."""


Refork: TypeAlias = Callable[[OpenChains], ForkFactory]


class DevelopmentService:
    """Factory of the task that makes a development chain's blocks, called once the chain is open."""

    def __init__(
        self,
        settings: DevelopmentSettings,
        printer: Printer | None = None,
        *,
        with_traffic: bool,
        beside: Sequence[Callable[[], Awaitable[None]]] = (),
    ) -> None:
        """Make the service; `printer` prints the chain's events.

        Tasks `beside` it run while the network is open.
        """
        self._settings = settings
        self._printer = printer
        self._with_traffic = with_traffic
        self._beside = beside
        self.folder: ChainFolder | None = None
        """Folder of the chain at its end, since a fork may have moved."""

    @contextmanager
    def __call__(self, opened: OpenChains) -> Iterator[ChainService]:
        """Yield the service that makes blocks, until the network is closed."""
        settings = self._settings
        chain = DevelopmentChain(
            opened.ethereum,
            opened.pool,
            opened.hub,
            block_time=settings.block_time,
            fee_recipient=settings.fee_recipient,
            gas_limit=opened.gas_limit,
            on_request=settings.on_request,
            epoch=settings.epoch,
            impersonates_all=settings.impersonates_all,
            time=settings.time,
            fork=settings.fork,
            forks=None if settings.refork is None else settings.refork(opened),
        )
        opened.pool.order = settings.order
        background = [chain.run, *self._beside]
        if self._with_traffic and settings.block_time:
            background.append(_traffic(opened, settings.block_time, chain.settle).run)
        secrets = [account.secret for account in settings.accounts]
        development = DevelopmentSetup(chain, secrets, settings.gas_price)
        with self._printing_calls(opened, chain) as watch, _grown_starknet(opened) as others:
            yield ChainService(development, [*background, *others], watch, settings.page)
        self.folder = opened.ethereum.folder

    @contextmanager
    def _printing_calls(
        self, opened: OpenChains, chain: DevelopmentChain
    ) -> Iterator[Callable[[Registry], None] | None]:
        """Yield a function that prints calls of a registry's methods, None without a printer."""
        if self._printer is None:
            yield None
            return
        narrator = EventPrinter(self._printer, opened.ethereum, chain.log, self._settings.telling)
        opened.hub.on_change.append(narrator.tell_change)
        try:
            yield narrator.watch
        finally:
            narrator.end()


@contextmanager
def _grown_starknet(opened: OpenChains) -> Iterator[Sequence[Callable[[], Awaitable[None]]]]:
    if opened.starknet is None or opened.starknet_hub is None:
        yield ()
        return
    # The import is local because only the demo has a Starknet chain.
    from wsnode.demo.starknet_chain import LiveStarknet

    starknet = LiveStarknet(opened.starknet, opened.starknet_hub.advance)
    try:
        yield (starknet.run,)
    finally:
        starknet.close()


def _traffic(opened: OpenChains, block_time: float, settle: "Settle") -> "TrafficGenerator":
    from wsnode.demo.traffic import TrafficGenerator

    def next_nonce(address: bytes) -> int:
        with opened.ethereum.snapshot() as view:
            return opened.pool.next_nonce(address, view)

    seed = opened.ethereum.head.number
    return TrafficGenerator(
        opened.ethereum.spec, next_nonce, opened.pool.add, settle, block_time=block_time, seed=seed
    )
