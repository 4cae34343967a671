"""A node with a partner, both of them real processes: forwarded calls, and their replies."""

import json
import re
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as serve_websocket

from tests.conftest import encoded_blocks
from tests.node_process import PATIENCE, Node, import_chain, kept_address, post, started
from tests.vector_files import require_vectors
from wsnode.cli.main import app
from wsnode.node.config import ConfigurationError
from wsnode.node.config_file import read

pytestmark = pytest.mark.slow

METHOD = "eth_getTransactionByHash"
KNOWN_BLOCKS = 40


def command(*arguments: str, status: int = 0) -> str:
    """Return what a command prints, run in this process."""
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == status, ended.output
    return ended.stdout


class Folders:
    """The folder of a partner, which has all, and that of a node that lacks the end and has metrics."""

    def __init__(self, root: Path, metrics: str) -> None:
        vectors = require_vectors("execution-apis")
        self.whole, self.part = root / "whole", root / "part"
        beginning = root / "beginning.rlp"
        blocks = list(encoded_blocks((vectors / "chain.rlp").read_bytes()))
        beginning.write_bytes(b"".join(blocks[:KNOWN_BLOCKS]))
        for folder, file in ((self.whole, vectors / "chain.rlp"), (self.part, beginning)):
            assert import_chain(folder, vectors / "genesis.json", [file]).returncode == 0
        self.forwarding = self.key("forwarding", "--forwarding")
        self.plain = self.key("plain")
        self.root = root
        self.metrics = metrics

    def key(self, name: str, *options: str) -> str:
        return command("keys", "add", name, "--data", str(self.part), *options).strip()


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Folders]:
    with kept_address() as metrics:
        yield Folders(tmp_path_factory.mktemp("outage"), metrics)


@pytest.fixture(scope="module")
def partner(folders: Folders) -> Iterator[Node]:
    with started("serve", "--data", str(folders.whole), "--listen", "127.0.0.1:0", "--open") as node:
        yield node


@pytest.fixture(scope="module")
def late(partner: Node) -> list[dict[str, Any]]:
    """Return the transactions of the blocks that only the partner has."""
    blocks = [
        result(partner, "any", "eth_getBlockByNumber", hex(number), True)
        for number in range(KNOWN_BLOCKS + 1, 55)
    ]
    return [transaction for block in blocks for transaction in block["transactions"]]


@contextmanager
def node_with(folders: Folders, url: str, stale_after: float = 60) -> Iterator[Node]:
    file = folders.root / "wsnode.toml"
    file.write_text(
        f'[networks.test]\ndata = "part"\n'
        f'[networks.test.partner]\nurl = "{url}"\nstale_after = {stale_after}\n'
    )
    options = ("--config", str(file), "--listen", "127.0.0.1:0", "--metrics-listen", folders.metrics)
    with started("serve", *options) as node:
        yield node


def ask(node: Node, key: str, method: str, *params: Any) -> dict[str, Any]:
    url = re.sub(r"/v3/.*", f"/v3/{key}", node.http_url)
    text = post(url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))
    reply: dict[str, Any] = json.loads(text)
    return reply


def result(node: Node, key: str, method: str, *params: Any) -> Any:
    return ask(node, key, method, *params)["result"]


def counted(folders: Folders, outcome: str) -> float:
    with urllib.request.urlopen(f"http://{folders.metrics}/metrics") as page:
        found = re.search(rf'wsnode_forwarded_total{{.*outcome="{outcome}".*}} (\S+)', page.read().decode())
    return float(found[1]) if found else 0


def test_a_stale_node_asks_its_partner_for_the_keys_that_include_it(
    folders: Folders, partner: Node, late: list[dict[str, Any]]
) -> None:
    with node_with(folders, partner.socket_url.replace("<API_KEY>", "any")) as node:
        for transaction in late:
            assert result(node, folders.forwarding, METHOD, transaction["hash"]) == transaction
            assert result(node, folders.plain, METHOD, transaction["hash"]) is None
        assert result(node, folders.forwarding, METHOD, "0x" + "13" * 32) is None
        assert counted(folders, "found") == len(late)
        assert counted(folders, "unknown") == 1


def test_an_operator_turns_it_on_and_off(folders: Folders, partner: Node, late: list[dict[str, Any]]) -> None:
    wanted = late[0]["hash"]
    with node_with(folders, partner.socket_url.replace("<API_KEY>", "any"), stale_after=1e12) as node:
        assert result(node, folders.forwarding, METHOD, wanted) is None
        assert command("outage", "on", "--data", str(folders.part)) == "outage on\n"
        assert result(node, folders.forwarding, METHOD, wanted) == late[0]
        assert command("outage", "off", "--data", str(folders.part)) == "outage off\n"
        assert result(node, folders.forwarding, METHOD, wanted) is None
    command("outage", "maybe", "--data", str(folders.part), status=2)
    command("outage", "on", "--data", str(folders.part / "nowhere"), status=1)


def failure(node: Node, folders: Folders, wanted: str) -> tuple[int, str]:
    error = ask(node, folders.forwarding, METHOD, wanted)["error"]
    return error["code"], error["data"]["reason"]


def test_a_partner_that_is_gone_is_an_error_and_one_that_is_back_is_asked(
    folders: Folders, late: list[dict[str, Any]]
) -> None:
    wanted = late[0]["hash"]
    with kept_address() as address, node_with(folders, f"ws://{address}/ws/v3/any") as node:
        assert failure(node, folders, wanted) == (-32002, "unreachable")
        for _ in range(2):
            with started("serve", "--data", str(folders.whole), "--listen", address, "--open"):
                assert result(node, folders.forwarding, METHOD, wanted) == late[0]
            assert failure(node, folders, wanted) == (-32002, "unreachable")
        assert counted(folders, "failed") == 3


@contextmanager
def pretender(answer: Callable[[str], Any]) -> Iterator[str]:
    """Serve a partner that says what `answer` makes of a hash."""

    def converse(connection: ServerConnection) -> None:
        for message in connection:
            call = json.loads(message)
            told = answer(call["params"][0])
            connection.send(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": told}))

    with serve_websocket(converse, "127.0.0.1", 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        server.shutdown()
        thread.join()


def test_a_partner_that_lies_is_not_believed(folders: Folders, late: list[dict[str, Any]]) -> None:
    lies: list[Any] = [
        late[1],
        late[0] | {"value": "0xffff"},
        late[0] | {"from": late[0]["to"] or "0x" + "12" * 20},
        {"hash": late[0]["hash"]},
        "0x",
        [],
    ]
    told = iter(lies)
    with pretender(lambda _hash: next(told)) as url, node_with(folders, url) as node:
        for _ in lies:
            assert failure(node, folders, late[0]["hash"]) == (-32002, "invalid")


def test_a_partner_that_is_slow_is_given_five_seconds_and_holds_nobody_up(
    folders: Folders, late: list[dict[str, Any]]
) -> None:
    asked, over = threading.Event(), threading.Event()

    def hesitate(_hash: str) -> None:
        asked.set()
        over.wait(PATIENCE)

    def holds_nobody_up(node: Node) -> bool:
        """Return whether another call was answered before the partner was given up."""
        asked.clear()
        failures: list[tuple[int, str]] = []
        slow = threading.Thread(target=lambda: failures.append(failure(node, folders, late[0]["hash"])))
        slow.start()
        assert asked.wait(PATIENCE)
        assert result(node, folders.forwarding, "eth_blockNumber") == hex(KNOWN_BLOCKS)
        was_waiting = not failures
        slow.join()
        assert failures == [(-32002, "timeout")]
        return was_waiting

    with pretender(hesitate) as url, node_with(folders, url) as node:
        # On a busy machine those seconds may be over by then, but not each time.
        assert any(holds_nobody_up(node) for _ in range(5))
        over.set()


@pytest.mark.parametrize(
    "setting",
    ['url = "ftp://partner"', 'url = "wss://partner:99999"', 'url = "wss://partner"\nstale_after = 0'],
)
def test_a_setting_that_cannot_be_is_named(setting: str, tmp_path: Path) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text(f'[networks.test]\ndata = "part"\n[networks.test.partner]\n{setting}\n')
    with pytest.raises(ConfigurationError, match=r"networks.*partner"):
        read(file)
