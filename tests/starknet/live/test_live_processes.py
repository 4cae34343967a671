"""A node that serves a Starknet chain tells its subscribers what another process imports and replaces."""

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection, connect

from tests.node_process import PATIENCE, run, started
from tests.starknet.branches import branch, write_dump
from tests.starknet.live.sessions import HeadView
from wsnode.starknet.block import UnverifiedStarknetBlock

pytestmark = pytest.mark.slow

OLD = branch([[number] for number in range(1, 9)])
NEW = branch([*([number] for number in range(1, 6)), *([number, 1] for number in range(6, 12))])
"""Both have the first five blocks."""


def import_dump(data: Path, dump: Path, *options: str) -> None:
    ended = run("import", "alt", "--data", str(data), str(dump), *options)
    assert ended.returncode == 0, ended.stderr


def subscribe(node: ClientConnection, method: str, **params: Any) -> None:
    node.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    assert "result" in json.loads(node.recv(PATIENCE))


def follow(node: ClientConnection, view: HeadView, count: int) -> None:
    for _ in range(count):
        view.apply(json.loads(node.recv(PATIENCE)))


def places(blocks: list[UnverifiedStarknetBlock]) -> list[tuple[int, bytes]]:
    return [(block.number, block.hash) for block in blocks]


@pytest.mark.usefixtures("workers")
def test_subscribers_follow_imports_and_replacements_by_another_process(tmp_path: Path) -> None:
    data = tmp_path / "data"
    import_dump(data, write_dump(tmp_path / "first.jsonl", OLD[:3]))
    with (
        started("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--open") as node,
        connect(node.socket_url) as connection,
    ):
        subscribe(connection, "starknet_subscribeNewHeads", block_id={"block_number": 0}, cursors=True)
        view = HeadView()
        follow(connection, view, 3)
        import_dump(data, write_dump(tmp_path / "second.jsonl", OLD))
        follow(connection, view, len(OLD) - 3)
        assert view.blocks == places(OLD)
        import_dump(data, write_dump(tmp_path / "third.jsonl", NEW), "--replace")
        follow(connection, view, 1 + len(NEW) - 5)
        assert view.blocks == places(NEW)
    behind = HeadView()
    behind.blocks = places(NEW)
    import_dump(data, tmp_path / "second.jsonl", "--replace")
    with (
        started("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--open") as node,
        connect(node.socket_url) as connection,
    ):
        subscribe(connection, "alt_subscribeNewHeads", cursor=view.cursor)
        follow(connection, behind, 1 + len(OLD) - 5)
        assert behind.blocks == places(OLD)
