"""A follower and its upstreams in one process: chains on disk, everything between them in memory."""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import trio

from tests.ethereum.live.growing import GrowingChain, emitting_genesis, growing_chain
from tests.memory_transport import asking
from tests.node_process import PATIENCE
from tests.upstream.providers import Error, SocketProvider
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head, HeadChange
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.primitives.values import BlockNumber
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.storage.errors import ChainBusyError
from wsnode.ethereum.storage.folder_kind import FULL, FolderKind
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.sync.follow.follower import Follower
from wsnode.sync.follow.sync_report import SyncStage
from wsnode.sync.follow.upstream import Upstream
from wsnode.sync.follow.upstream_txs import UpstreamTransactions
from wsnode.sync.progress import NullProgress
from wsnode.upstream.address import UpstreamAddress

HEADS = "0x1"

Override = Callable[[list[Any]], Any]
NOT_SAID = object()


class Source:
    """An upstream whose chain the test grows; `overrides` answer in its place, or leave it by NOT_SAID."""

    def __init__(self, growing: GrowingChain, nursery: trio.Nursery) -> None:
        self.growing = growing
        self.provider = SocketProvider(nursery, self._answer)
        self.overrides: dict[str, Override] = {}
        self.asked = Counter[str]()
        registry = build_registry(growing.chain)
        self._ask = asking(Dispatcher(registry, growing.chain.snapshot))

    @property
    def head(self) -> Head:
        return self.growing.chain.head

    def _answer(self, method: str, params: list[Any]) -> Any:
        self.asked[method] += 1
        if method in self.overrides and (found := self.overrides[method](params)) is not NOT_SAID:
            return found
        if method == "eth_subscribe":
            return HEADS if params[0] == "newHeads" else Error(-32601, f"no {params[0]}")
        reply = self._ask(method, *params)
        if "error" in reply:
            return Error(reply["error"]["code"], reply["error"]["message"])
        return reply["result"]

    def grow(self, blocks: int = 1) -> None:
        for _ in range(blocks):
            self.growing.grow()

    def finalize(self, below: int) -> None:
        """Make the block final that lies `below` blocks under the head."""
        with self.growing.chain.snapshot() as view:
            number = BlockNumber(max(0, view.number - below))
            block_hash = view.hash_of(number)
        assert block_hash is not None
        self.growing.chain.mark_final(Head(number, block_hash))

    async def tell(self, **changed: str) -> None:
        """Announce the head, whatever it is, with these members changed."""
        head = self._answer("eth_getBlockByNumber", ["latest", False])
        await self.provider.tell(HEADS, head | changed if changed else head)


class BeaconSource(Protocol):
    """A beacon node in memory."""

    async def connect(self, address: UpstreamAddress, /) -> trio.abc.Stream:
        """Return a connection to it."""


class World:
    """One follower."""

    def __init__(
        self,
        chain: Chain,
        sources: dict[str, Source],
        beacons: Mapping[str, "BeaconSource"] | None = None,
        **settings: Any,
    ) -> None:
        self.chain = chain
        self._beacons = beacons or {}
        self.hub = Hub(chain)
        self.changes: list[HeadChange] = []
        self.hub.on_change.append(self.changes.append)
        self._sources = sources
        heard = UpstreamTransactions(chain.spec, self.hub.pending.announce)
        addresses = [UpstreamAddress.parse(f"ws://{name}/") for name in sources]
        self.live = LiveTree(BlockTree(chain), self.hub)
        self.follower = Follower(
            chain,
            self.live,
            addresses,
            NullProgress(),
            heard,
            connect=self._connect,
            block_time=lambda chain: 0.3,
            **settings,
        )

    async def _connect(self, address: UpstreamAddress) -> trio.abc.Stream:
        if address.host in self._beacons:
            return await self._beacons[address.host].connect(address)
        return await self._sources[address.host].provider.connect(address)

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once a condition holds."""
        with trio.fail_after(PATIENCE):
            # Threads of the engine take their own time, of which no event tells here.
            while not condition():  # noqa: ASYNC110
                await trio.sleep(0.005)

    async def until_at(self, head: Head) -> None:
        """Return once the chain has a head and its subscribers have it too."""
        await self.until(lambda: self.hub.head == head)

    async def until_stage(self, stage: SyncStage) -> None:
        await self.until(lambda: self.follower.stage is stage)

    def upstream(self, name: str) -> Upstream:
        return next(each for each in self.follower.upstreams if each.client.address.host == name)

    def state_of(self, name: str) -> tuple[str, str]:
        """Return how an upstream stands, and why."""
        upstream = self.upstream(name)
        return upstream.standing.value, upstream.why

    def slow_down(self, name: str) -> None:
        """Have an upstream be asked after the others, as if it had answered slowly."""
        for _ in range(100):
            self.upstream(name).client.score.answered(1.0)


@contextmanager
def sources_of(
    folder: Path, names: Sequence[str], nursery: trio.Nursery, genesis: bytes | None = None
) -> Iterator[dict[str, Source]]:
    """Open a chain for each name, all with one genesis."""
    with ExitStack() as stack:
        chains = {name: stack.enter_context(growing_chain(folder / name, genesis)) for name in names}
        yield {name: Source(chain, nursery) for name, chain in chains.items()}


async def opened_chain(folder: Path, genesis: bytes, kind: FolderKind) -> Chain:
    """Open a chain, once threads of an earlier follower of this process have let go of it.

    A thread that has told its result holds what it worked on until it is run again.
    """
    with trio.fail_after(PATIENCE):
        while True:
            try:
                return Chain.open(folder, genesis, writer=True, durable=False, kind=kind)
            except ChainBusyError:
                await trio.sleep(0.01)


@asynccontextmanager
async def followed(
    folder: Path,
    sources: dict[str, Source],
    *,
    kind: FolderKind = FULL,
    genesis: bytes | None = None,
    **settings: Any,
) -> AsyncIterator[World]:
    """Run a follower of `sources` on a folder of its own, of that `kind`, until the block ends."""
    begun = genesis or emitting_genesis()
    with await opened_chain(folder / "ours", begun, kind) as chain:
        world = World(chain, sources, **settings)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.follower.run)
            nursery.start_soon(world.hub.fan_out.run)
            nursery.start_soon(world.hub.watch)
            yield world
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def opened_world(
    folder: Path,
    *names: str,
    blocks: int = 3,
    final: int | None = None,
    genesis: bytes | None = None,
    **settings: Any,
) -> AsyncIterator[tuple[World, dict[str, Source]]]:
    """Run a follower of new upstreams of these names and lengths, final but for the last `final` blocks."""
    async with trio.open_nursery() as nursery:
        with sources_of(folder, names, nursery, genesis) as sources:
            for source in sources.values():
                source.grow(blocks)
                if final is not None:
                    source.finalize(final)
            async with followed(folder, sources, genesis=genesis, **settings) as world:
                yield world, sources
        nursery.cancel_scope.cancel()


Open: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[World, dict[str, Source]]]]
