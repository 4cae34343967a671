"""A network on top of another chain: what it shows of itself."""

from pathlib import Path

from wsnode.demo.genesis import demo_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.node.services.fork import UpstreamForkBackend, forked
from wsnode.node.services.fork_point import client_of
from wsnode.server.access.router import Network
from wsnode.server.shared import MetricValue


def test_the_figures_of_a_fork_are_added_to_those_of_its_network(tmp_path: Path) -> None:
    own = MetricValue("wsnode_own", 1)
    with Chain.open(tmp_path, demo_genesis(), writer=True, durable=False) as chain:
        network = Network(
            "dev", build_registry(chain), lambda _caller: chain.snapshot(), figures=lambda: [own]
        )
        figures = forked(
            network, chain, UpstreamForkBackend(chain, [client_of("http://upstream/")])
        ).figures()
    names = [figure.name for figure in figures]
    assert names[0] == "wsnode_own"
    assert "wsnode_proof_rounds_total" in names
