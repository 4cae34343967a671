"""Forks of a development chain in one process: the chain answers them without a network between."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec
import trio

from tests.ethereum.development.playground import ETHER, Playground, playground
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.development_service import DevelopmentSettings
from wsnode.demo.fork_factory import forked_from, funds_of
from wsnode.demo.genesis import ForkSource, forked_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.control import ControlError, ForkedChain, ForkedFrom, ForkRequest
from wsnode.ethereum.rpc.middlewares.state_fetching import ChainRegistry
from wsnode.ethereum.storage.folder import ChainFolder
from wsnode.node.config import ConfigurationError
from wsnode.node.networks import OpenChains
from wsnode.node.services.fork import patch
from wsnode.node.services.fork_point import fetch_first
from wsnode.sync.proofs.fetcher import ProofFetcher
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client, TokenBucket
from wsnode.upstream.errors import ConnectionLostError, UpstreamError, UpstreamRefusedError
from wsnode.upstream.link import Link, OnEvent
from wsnode.upstream.messages import ETH_SUBSCRIBE, Params

FUNDED = [account.address for account in ACCOUNTS], 10_000 * ETHER

Lie = Callable[[str, list[Any], Any], Any]
"""Returns what is answered to a call in place of its result."""


class Node(Protocol):
    """What answers methods by name, with a result or an error."""

    def raw(self, method: str, params: list[Any]) -> dict[str, Any]:
        """Return a reply, be it a result or an error."""


class Held:
    """Answers that are held back, and the event of one having been asked for."""

    def __init__(self) -> None:
        self.asked = trio.Event()
        self.released = trio.Event()


class MemoryLink:
    """A way to a chain in this process; `lie` changes what it says, `is_gone` ends it. The next `losses`
    calls find that the connection is lost. An answer to a method in `held` waits until that is released.
    """

    def __init__(self, chain: Node) -> None:
        self.ended = trio.Event()
        self.heard = 0
        self.asked = Counter[str]()
        self.is_gone = False
        self.losses = 0
        self.is_direct = False
        """Whether it answers without a thread, what is read without waiting for anything."""
        self.held: dict[str, Held] = {}
        self.lie: Lie = lambda _method, _params, result: result
        self._chain = chain

    async def ask(self, method: str, params: Params) -> bytes:
        assert isinstance(params, list)
        if self.is_gone:
            raise UpstreamError("unreachable")
        if self.losses:
            self.losses -= 1
            raise ConnectionLostError
        self.heard += 1
        self.asked[method] += 1
        if self.is_direct:
            reply = self._chain.raw(method, params)
        else:
            # The chain's own work is awaited in an event loop of its own.
            reply = await trio.to_thread.run_sync(self._chain.raw, method, params)
        if "error" in reply:
            raise UpstreamRefusedError(reply["error"]["code"], reply["error"]["message"])
        if (held := self.held.get(method)) is not None:
            held.asked.set()
            await held.released.wait()
        return msgspec.json.encode(self.lie(method, params, reply["result"]))

    async def ask_all(self, method: str, calls: Sequence[list[Any]]) -> list[bytes | UpstreamRefusedError]:
        answers: list[bytes | UpstreamRefusedError] = []
        for params in calls:
            try:
                answers.append(await self.ask(method, params))
            except UpstreamRefusedError as error:
                answers.append(error)
        return answers

    async def subscribe(self, params: Params, on_event: OnEvent, method: str = ETH_SUBSCRIBE) -> None:
        raise UpstreamError("refused")

    def drop(self) -> None: ...


class Unbounded(TokenBucket):
    """A budget for clients that outlive an event loop."""

    async def take(self, calls: int = 1) -> None:
        """Allow each call."""


class MemoryClient(Client):
    """Asks a chain in this process."""

    def __init__(self, chain: Node, name: str = "upstream") -> None:
        super().__init__(UpstreamAddress.parse(f"http://{name}/"), seconds=60, budget=Unbounded())
        self.memory = MemoryLink(chain)

    async def link(self) -> Link:
        return self.memory


class MemoryForks:
    """Begins chains on blocks of those in this process, whose URLs have their names; implements `Forks`."""

    def __init__(self, folder: Path, clients: dict[str, MemoryClient], opened: OpenChains) -> None:
        assert opened.forking is not None
        self._folder = folder
        self._clients = clients
        self._forking = opened.forking
        self._count = 0

    async def begin(self, forking: ForkRequest, present: ForkedFrom) -> ForkedChain | None:
        """Return a new chain on a block."""
        client = self._clients[forking.url or present.url]
        self._count += 1
        place = self._folder / f"moved-{self._count}"
        await trio.to_thread.run_sync(begin_fork, place, [client], forking.block)
        chain = Chain.open(place, writer=True, durable=False)
        source = ForkSource([forking.url or present.url])
        began = forked_from(source, ChainFolder(place).read_genesis())
        return ForkedChain(chain, began, partial(self._forking.move, [client]))


def begin_fork(place: Path, clients: Sequence[MemoryClient], block: int | None) -> None:
    """Make a chain on a block of the one that the first client asks."""
    try:
        genesis = forked_genesis(trio.run(fetch_first, clients[0], block))
    except ConfigurationError as error:
        raise ControlError(str(error)) from None
    with Chain.open(place, genesis, writer=True, durable=False) as chain:
        patch(chain, clients, funds_of(genesis, *FUNDED))
        chain.mark_final(chain.head)


@contextmanager
def forked_playground(
    folder: Path,
    clients: Sequence[MemoryClient],
    block: int | None = None,
    moves_to: dict[str, MemoryClient] | None = None,
) -> Iterator[Playground]:
    """Open the fork in a folder, or begin one there on a block of the chain that the first client asks.

    It can be put on blocks of chains that it `moves_to`, by their URLs.
    """
    place = folder / "eth"
    if not place.exists():
        begin_fork(place, clients, block)
    genesis = ChainFolder(place).read_genesis()
    fork = forked_from(ForkSource([f"http://{clients[0].address.host}/key"]), genesis)
    refork = None if moves_to is None else partial(MemoryForks, folder, moves_to)
    settings = DevelopmentSettings(0, ACCOUNTS, fork=fork, refork=refork)
    with playground(folder, clients=clients, settings=settings) as opened:
        yield opened


def rounds_of(fork: Playground) -> int:
    """Return how often a fork has fetched proofs."""
    assert isinstance(fork.registry, ChainRegistry)
    supply = fork.registry.state_fetchers
    assert isinstance(supply, ProofFetcher)
    return supply.rounds
