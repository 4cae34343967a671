"""A node that serves a folder tells its subscribers what another process imports into it."""

import json
from functools import partial
from pathlib import Path

import msgspec
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.conftest import encoded_blocks
from tests.node_process import PATIENCE, import_chain, started
from tests.vector_files import require_vectors

FIRST = 20


class Told(msgspec.Struct):
    result: dict[str, object]
    cursor: str | None = None


def subscribe(node: ClientConnection, *params: object) -> None:
    node.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": params}))
    assert "result" in json.loads(node.recv(PATIENCE))


def told(node: ClientConnection, count: int) -> list[Told]:
    messages = (json.loads(node.recv(PATIENCE)) for _ in range(count))
    return [msgspec.convert(message["params"], Told) for message in messages]


@pytest.mark.slow
@pytest.mark.usefixtures("workers")
def test_subscribers_follow_an_import_by_another_process(tmp_path: Path) -> None:
    vectors = require_vectors("execution-apis")
    blocks = list(encoded_blocks((vectors / "chain.rlp").read_bytes()))
    parts = blocks[:FIRST], blocks[FIRST:]
    for name, part in zip(("first", "second"), parts, strict=True):
        (tmp_path / name).write_bytes(b"".join(part))
    data, genesis = tmp_path / "data", vectors / "genesis.json"
    assert import_chain(data, genesis, [tmp_path / "first"]).returncode == 0
    with started("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--open") as node:
        with connect(node.socket_url, max_size=None) as live, connect(node.socket_url) as whole:
            subscribe(live, "newHeads")
            subscribe(whole, "newHeads", {"fromBlock": "earliest", "cursors": True})
            assert len(told(whole, FIRST + 1)) == FIRST + 1
            assert import_chain(data, genesis, [tmp_path / "second"]).returncode == 0
            numbers = [head.result["number"] for head in told(live, len(parts[1]))]
            assert numbers == [hex(number) for number in range(FIRST + 1, len(blocks) + 1)]
            assert [head.result["number"] for head in told(whole, len(parts[1]))] == numbers
        cursor = None
        # A client that does not read all that comes does not see the answer to its close either.
        unread = partial(connect, node.socket_url, max_size=None, close_timeout=0)
        with unread() as logs:
            subscribe(logs, "logs", {"fromBlock": "0x0", "cursors": True})
            cursor = told(logs, 3)[-1].cursor
        with unread() as logs:
            subscribe(logs, "logs", {"cursor": cursor})
            assert told(logs, 1)[0].cursor != cursor
