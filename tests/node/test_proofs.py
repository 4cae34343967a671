"""What a light folder's proofs count for `/metrics`."""

from collections.abc import Sequence
from pathlib import Path

from tests.ethereum.live.growing import emitting_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.storage.folder_kind import FolderKind
from wsnode.node.services.proofs import proof_figures, proving
from wsnode.sync.follow.upstream import PeerState, Upstreams, named
from wsnode.upstream.address import UpstreamAddress
from wsnode.upstream.client import Client

LIGHT = FolderKind(8, is_light=True)


def clients(*urls: str) -> Sequence[Client]:
    return [Client(UpstreamAddress.parse(url)) for url in urls]


def test_proofs_are_asked_of_followed_upstreams_only(tmp_path: Path) -> None:
    upstreams = Upstreams(named(clients("ws://one/", "ws://two/")))
    with Chain.open(tmp_path, emitting_genesis(), writer=True, durable=False, kind=LIGHT) as chain:
        supply = proving(chain, upstreams)
        assert list(supply.provers.clients()) == []
        first, _second = upstreams
        first.standing = PeerState.FOLLOWED
        assert list(supply.provers.clients()) == [first.client]


def test_upstreams_with_one_name_are_counted_together(tmp_path: Path) -> None:
    upstreams = Upstreams(named(clients("ws://one/key", "ws://one/other")))
    for upstream in upstreams:
        upstream.standing = PeerState.FOLLOWED
    with Chain.open(tmp_path, emitting_genesis(), writer=True, durable=False, kind=LIGHT) as chain:
        figures = proof_figures(proving(chain, upstreams))
    assert [figure.labels for figure in figures if figure.labels] == [{"upstream": "ws://one"}] * 2
