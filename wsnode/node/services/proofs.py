"""State by proofs of other nodes; for a light folder, of the nodes that it follows."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.middlewares.state_fetching import ChainRegistry
from wsnode.server.access.router import Network
from wsnode.server.shared import MetricValue
from wsnode.sync.follow.upstream import Upstreams
from wsnode.sync.proofs.blocks import ForkPointProofStore, LightFolderProofStore
from wsnode.sync.proofs.client import ProofClient
from wsnode.sync.proofs.fetcher import PROOF_ERRORS, ProofFetcher
from wsnode.sync.proofs.state_request import grouped
from wsnode.upstream.client import Client


def proving(chain: Chain, upstreams: Upstreams) -> ProofFetcher:
    """Return a fetcher of proofs from the followed upstreams, for states after a light folder's blocks."""

    def clients() -> Sequence[Client]:
        return [upstream.client for upstream in upstreams.usable]

    return ProofFetcher(ProofClient(clients, LightFolderProofStore(chain)))


async def learn(chain: Chain, provers: ProofClient, addresses: Sequence[bytes]) -> None:
    """Fetch and verify, in one request, accounts after the first block of a forked chain.

    Raises:
        RpcError: No node proves them.
    """
    first = ForkPointProofStore(chain)
    if unknown := [address for address in addresses if not first.is_known(address)]:
        await provers.prove(grouped(unknown, ()), first.block)


def proved(network: Network, supply: ProofFetcher) -> Network:
    """Return `network` with calls that fetch proofs of the state by `supply`."""
    assert isinstance(network.registry, ChainRegistry), "Starknet's states are not proved"
    network.registry.fetch_state(supply, PROOF_ERRORS)
    return msgspec.structs.replace(network, figures=lambda: [*network.figures(), *proof_figures(supply)])


def proof_figures(supply: ProofFetcher) -> list[MetricValue]:
    """Return the numbers of fetched proofs, for `/metrics`."""
    provers = supply.provers
    figures = [
        MetricValue("wsnode_proof_rounds_total", supply.rounds),
        MetricValue("wsnode_carried_values_total", provers.carried),
    ]
    # Upstreams whose URLs differ only in their secret parts have the same name, so each name is reported
    # once.
    for name in sorted({str(client) for client in provers.clients()} | provers.asked.keys()):
        named = {"upstream": name}
        figures += [
            MetricValue("wsnode_proofs_total", provers.asked[name], named),
            MetricValue("wsnode_wrong_proofs_total", provers.wrong[name], named),
        ]
    return figures
