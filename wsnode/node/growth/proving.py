"""State by proofs: what calls need is proved by other nodes, in a light folder by those that it follows."""

from collections.abc import Sequence

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.server.access.directory import Network
from wsnode.server.shared import Figure
from wsnode.sync.follow.upstream import Upstreams
from wsnode.sync.proofs.blocks import EachBlock
from wsnode.sync.proofs.provers import Provers
from wsnode.sync.proofs.supply import PROOF_ERRORS, ProofSupply
from wsnode.upstream.client import Client


def proving(chain: Chain, upstreams: Upstreams) -> ProofSupply:
    """Return what has upstreams prove the states after a light folder's blocks: those that are followed."""

    def clients() -> Sequence[Client]:
        return [upstream.client for upstream in upstreams.fit]

    return ProofSupply(Provers(clients, EachBlock(chain)))


def proved(network: Network, supply: ProofSupply) -> Network:
    """Return a network with what fetches proofs for its calls."""
    network.registry.supply(supply, PROOF_ERRORS)
    return msgspec.structs.replace(network, figures=lambda: [*network.figures(), *proof_figures(supply)])


def proof_figures(supply: ProofSupply) -> list[Figure]:
    """Return the numbers of proofs for `/metrics`."""
    provers = supply.provers
    figures = [Figure("wsnode_proof_rounds", "Rounds of proofs fetched", supply.rounds, is_counter=True)]
    # Upstreams whose URLs differ in secret parts alone have one name.
    for name in sorted({str(client) for client in provers.clients()} | provers.asked.keys()):
        named = {"upstream": name}
        figures += [
            Figure("wsnode_proofs", "Values asked for", provers.asked[name], named, is_counter=True),
            Figure(
                "wsnode_wrong_proofs",
                "Rounds with a wrong proof",
                provers.wrong[name],
                named,
                is_counter=True,
            ),
        ]
    return figures
