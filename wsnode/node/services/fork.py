"""Forked chain: its first block is another chain's, whose nodes prove the state when it is needed."""

from collections.abc import Sequence
from typing import Any

import msgspec
import trio

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.rpc.historical import add_elsewhere
from wsnode.ethereum.snapshot import BlockName
from wsnode.jsonrpc.errors import RpcError
from wsnode.node.config import ConfigurationError
from wsnode.node.services.historical_chains import HistoricalChains, ProvedHistoricalChain
from wsnode.node.services.proofs import learn, proved
from wsnode.server.access.router import Network
from wsnode.server.shared import MetricValue
from wsnode.sync.proofs.blocks import ForkPointProofStore
from wsnode.sync.proofs.client import ProofClient
from wsnode.sync.proofs.fetcher import ProofFetcher
from wsnode.upstream.client import Client, running
from wsnode.upstream.errors import UpstreamError


class UpstreamForkBackend:
    """Client of nodes of the chain on which a forked chain began, for the state of its first block and for
    the blocks below it; implements `ForkBackend`.
    """

    def __init__(self, chain: Chain, clients: Sequence[Client]) -> None:
        self.clients = clients
        self.supply = ProofFetcher(ProofClient(lambda: self.clients, ForkPointProofStore(chain)))
        self.history_calls = 0
        self._chain = chain
        self._nursery: trio.Nursery | None = None
        self._held = trio.CancelScope()
        chain.fetch = self.supply.fetch
        self.past = HistoricalChains(chain, self.supply.provers)
        chain.below = self

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
        """Ask other nodes from now on, since the chain has another first block."""
        self.clients, before = clients, self._held
        self.supply.provers.blocks = ForkPointProofStore(self._chain)
        self.past.clear()
        if self._nursery is not None:
            await self._nursery.start(self._hold)
        before.cancel()

    def close(self) -> None:
        """Close all chains that end below the fork."""
        self.past.clear()

    async def learn(self, addresses: Sequence[bytes]) -> None:
        await learn(self._chain, self.supply.provers, addresses)

    async def ask(self, method: str, params: list[Any]) -> bytes:
        """Return the JSON text of a call's result, which is not verified.

        Raises:
            UpstreamError: The node gives no result.
        """
        self.history_calls += 1
        return await self.clients[0].ask_text(method, params)

    async def ask_each(self, method: str, calls: Sequence[list[Any]]) -> list[bytes]:
        """Return the JSON text of the result of each call, which is not verified.

        Raises:
            UpstreamError: A call has no result.
        """
        self.history_calls += len(calls)
        texts: list[bytes] = []
        for answer in await self.clients[0].ask_each(method, calls):
            if isinstance(answer, UpstreamError):
                raise answer
            texts.append(answer)
        return texts

    async def begun_at(self, block: BlockName) -> ProvedHistoricalChain:
        return await self.past.begun_at(block)

    async def executed(self, block: BlockName) -> ProvedHistoricalChain:
        return await self.past.executed(block)

    def figure(self) -> MetricValue:
        """Return the number of calls that were passed on, for `/metrics`."""
        return MetricValue("wsnode_forked_history_total", self.history_calls)


def forked(network: Network, chain: Chain, forking: UpstreamForkBackend) -> Network:
    """Return a network on top of another chain's block, whose state `forking` fetches by proofs."""
    add_elsewhere(network.registry)
    supplied = proved(network, forking.supply)
    return msgspec.structs.replace(
        supplied,
        background=[*network.background, forking.run],
        figures=lambda: [*supplied.figures(), forking.figure()],
    )


def patch(chain: Chain, clients: Sequence[Client], accounts: bytes) -> None:
    """Change accounts of a chain that is not served yet; `accounts` is JSON in the form of state overrides.

    Raises:
        ConfigurationError: No node proves the rest of an account.
    """
    forking = UpstreamForkBackend(chain, clients)
    addresses = [bytes.fromhex(address[2:]) for address in msgspec.json.decode(accounts)]

    async def work() -> None:
        async with running(clients):
            await forking.learn(addresses)
            await trio.to_thread.run_sync(BlockBuilder(chain).patch, accounts)

    try:
        trio.run(work)
    except RpcError as error:
        raise ConfigurationError(f"--fork: {error.message}") from None
