"""A node that follows another program, as processes: the same blocks and events through whatever happens."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import Node, post, started, until
from tests.starknet.models import ordered
from tests.starknet.reference.node import CHAIN_ID, ReferenceNode, reference_node

pytestmark = pytest.mark.slow

PAGE = {"chunk_size": 1024, "from_block": {"block_number": 0}, "to_block": "latest"}


@pytest.fixture
def reference() -> Iterator[ReferenceNode]:
    with reference_node(12) as node:
        yield node


def options(folder: Path, reference: ReferenceNode, transport: str) -> list[str]:
    url = reference.url.replace("http", transport)
    followed = ["follow", "--data", str(folder), "--chain", f"starknet:{CHAIN_ID}", "--light"]
    return [*followed, "--upstream", f"{url}/rpc/v0_10", "--listen", "127.0.0.1:0", "--open"]


def ask(node: Node, method: str, *params: Any) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": f"starknet_{method}", "params": params}
    reply = json.loads(post(node.http_url, json.dumps(request)))
    return reply.get("result", reply.get("error"))


def until_equal(node: Node, reference: ReferenceNode) -> None:
    """Wait for the reference's head and for all blocks below it, and compare all events and blocks."""
    head = reference.ask("starknet_blockHashAndNumber", [])
    until("the head is the upstream's", lambda: ask(node, "blockHashAndNumber") == head)
    first = [{"block_number": 0}]
    until("the window is full", lambda: "new_root" in ask(node, "getStateUpdate", *first))
    assert ask(node, "getEvents", PAGE) == reference.ask("starknet_getEvents", [PAGE])
    for number in range(head["block_number"] + 1):
        update = reference.ask("starknet_getStateUpdate", [{"block_number": number}])
        assert ordered(ask(node, "getStateUpdate", {"block_number": number})) == ordered(update)


@pytest.mark.parametrize("transport", ["ws", pytest.param("http", marks=pytest.mark.nightly)])
def test_events_are_the_upstreams_through_reorganisations_and_cuts(
    reference: ReferenceNode, tmp_path: Path, transport: str
) -> None:
    with started(*options(tmp_path / "data", reference, transport)) as node:
        until_equal(node, reference)
        for depth in (1, 3, 5):
            reference.command("reorganise", depth=depth, count=depth + 1)
            reference.command("cut")
            until_equal(node, reference)
        reference.command("down")
        reference.command("grow", count=2)
        reference.command("down", on=False)
        until_equal(node, reference)


def test_a_killed_node_goes_on_and_misses_no_event(reference: ReferenceNode, tmp_path: Path) -> None:
    for depth in (0, 2):
        with started(*options(tmp_path / "data", reference, "ws")) as node:
            until_equal(node, reference)
            node.kill()
        reference.command("reorganise", depth=depth, count=depth + 2)
    with started(*options(tmp_path / "data", reference, "ws")) as node:
        until_equal(node, reference)


@pytest.mark.parametrize(
    "lie",
    [
        "event left out",
        *(
            pytest.param(lie, marks=pytest.mark.nightly)
            for lie in ("event changed", "receipt status", "calldata", "difference short")
        ),
    ],
)
def test_a_lie_is_not_served_and_following_goes_on_after_it(
    reference: ReferenceNode, tmp_path: Path, lie: str
) -> None:
    with started(*options(tmp_path / "data", reference, "ws")) as node:
        until_equal(node, reference)
        reference.command("lie", name=lie)
        reference.command("grow", count=3)
        until("the lie is noticed", lambda: _told(node)["upstreams"][0]["state"] != "followed")
        head = ask(node, "blockNumber")
        honest = reference.command("tell the truth")
        assert head < honest["block_number"]
        until_equal(node, reference)


def _told(node: Node) -> Any:
    request = {"jsonrpc": "2.0", "id": 1, "method": "wsnode_status", "params": []}
    return json.loads(post(node.http_url, json.dumps(request)))["result"]


def test_a_node_follows_one_that_follows(reference: ReferenceNode, tmp_path: Path) -> None:
    with started(*options(tmp_path / "first", reference, "ws")) as first:
        until_equal(first, reference)
        followed = ["follow", "--data", str(tmp_path / "second"), "--chain", f"starknet:{CHAIN_ID}"]
        upstream = ["--upstream", first.bare(first.socket_url), "--listen", "127.0.0.1:0", "--open"]
        with started(*followed, *upstream) as second:
            until_equal(second, reference)
            reference.command("reorganise", depth=2, count=3)
            until_equal(second, reference)
