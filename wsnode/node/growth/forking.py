"""A network on top of another chain: its first block is that chain's, its state proved as it is needed."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.rpc.form.elsewhere import add_elsewhere
from wsnode.jsonrpc.errors import RpcError
from wsnode.node.config import ConfigurationError
from wsnode.node.growth.proving import proved
from wsnode.server.access.directory import Network
from wsnode.server.shared import Figure
from wsnode.sync.proofs.blocks import FirstBlock
from wsnode.sync.proofs.provers import Provers
from wsnode.sync.proofs.supply import ProofSupply
from wsnode.sync.proofs.wanted import grouped
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client, running
from wsnode.upstream.errors import AddressError

SECONDS: Final = 30.0
"""Limit of an answer: nodes that are forks themselves fetch first what they prove."""


class Forking:
    """What a chain on top of another asks that chain's nodes."""

    def __init__(self, chain: Chain, clients: Sequence[Client]) -> None:
        self.clients = clients
        self.supply = ProofSupply(Provers(lambda: self.clients, FirstBlock(chain)))
        self.history_calls = 0
        self._chain = chain
        self._nursery: trio.Nursery | None = None
        self._held = trio.CancelScope()
        chain.fetch = self.supply.fetch

    async def run(self) -> None:
        """Hold the connections to the nodes, for ever."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._hold)
            self._nursery = nursery
            try:
                await trio.sleep_forever()
            finally:
                self._nursery = None

    async def _hold(self, task_status: trio.TaskStatus[None]) -> None:
        with trio.CancelScope() as self._held:
            async with running(self.clients):
                task_status.started()
                await trio.sleep_forever()

    async def move(self, clients: Sequence[Client]) -> None:
        """Ask other nodes from now on, for the chain's first block, which is another one."""
        self.clients, before = clients, self._held
        self.supply.provers.blocks = FirstBlock(self._chain)
        if self._nursery is not None:
            await self._nursery.start(self._hold)
        before.cancel()

    async def learn(self, addresses: Sequence[bytes]) -> None:
        """Have the accounts of these addresses be known, all at once.

        Raises:
            RpcError: They are not proved.
        """
        blocks = FirstBlock(self._chain)
        if unknown := [address for address in addresses if not blocks.is_known(address)]:
            await self.supply.provers.prove(grouped(unknown, ()), blocks.block)

    async def ask(self, method: str, params: list[Any]) -> bytes:
        """Return the JSON text of a call's result, which is not verified.

        Raises:
            UpstreamError: There is none.
        """
        self.history_calls += 1
        return await self.clients[0].ask_text(method, params)

    def figure(self) -> Figure:
        """Return the number of calls that were passed on, for `/metrics`."""
        return Figure(
            "wsnode_forked_history",
            "Calls about blocks below the fork, which are passed on and not verified",
            self.history_calls,
            is_counter=True,
        )


def forked(network: Network, chain: Chain, forking: Forking) -> Network:
    """Return a network whose chain begins on another chain's block, with what asks for that one's state."""
    supplied = proved(network, forking.supply)
    add_elsewhere(network.registry, lambda: chain.spec.first_number, forking.ask)
    return msgspec.structs.replace(
        supplied,
        background=[*network.background, forking.run],
        figures=lambda: [*supplied.figures(), forking.figure()],
    )


def client_of(url: str) -> Client:
    """Return a client of the node at a URL.

    Raises:
        ConfigurationError: It is none.
    """
    try:
        return Client(UpstreamAddress.parse(url), seconds=SECONDS)
    except AddressError as error:
        raise ConfigurationError(f"--fork: {error}") from None


def shown(url: str) -> str:
    """Return a URL without its path and its user, which may be keys."""
    return str(client_of(url))


def patch(chain: Chain, clients: Sequence[Client], accounts: bytes) -> None:
    """Change accounts of a chain that is not served yet; `accounts` is JSON as state overrides are.

    Raises:
        ConfigurationError: What is unknown of them is not proved.
    """
    forking = Forking(chain, clients)
    addresses = [bytes.fromhex(address[2:]) for address in msgspec.json.decode(accounts)]

    async def work() -> None:
        async with running(clients):
            await forking.learn(addresses)
            await trio.to_thread.run_sync(BlockBuilder(chain).patch, accounts)

    try:
        trio.run(work)
    except RpcError as error:
        raise ConfigurationError(f"--fork: {error.message}") from None
