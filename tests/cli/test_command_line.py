"""The real command line: exit statuses, the last line of standard output, one line on standard error."""

import gzip
import json
import os
import re
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from tests.node_process import PATIENCE, Node, conversation, import_chain, kept_address, post, run, started
from tests.store.disk_space import disk_bytes
from tests.vector_files import require_vectors
from wsnode.cli.imports import give_back
from wsnode.cli.main import app
from wsnode.store.environment import release_free_pages

pytestmark = pytest.mark.slow

GENESIS_HEAD = "head 0 0x44fd89d504659cd58f48f4796b77a7e7012cf296a2409afa2f6c3cb99b5b3d99"
HANDSHAKE = (
    b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
)
SCRIPTED = 42
"""The last block of the demo that is the same in every run."""
HEAD = "head 54 0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"


@pytest.fixture(scope="module")
def vectors() -> Path:
    return require_vectors("execution-apis")


@pytest.fixture(scope="module")
def chain(vectors: Path) -> Path:
    return vectors / "chain.rlp"


@pytest.fixture(scope="module")
def genesis(vectors: Path) -> Path:
    return vectors / "genesis.json"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with started("demo", "--listen", "127.0.0.1:0", "--data", str(tmp_path_factory.mktemp("demo"))) as node:
        yield node


def call(url: str, method: str, *params: Any) -> Any:
    return json.loads(post(url, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})))


def only_line(text: str) -> str:
    (line,) = text.splitlines()
    return line


def test_a_plain_a_packed_and_a_piped_chain_end_at_the_same_head(
    vectors: Path, chain: Path, genesis: Path, tmp_path: Path
) -> None:
    packed = tmp_path / "chain.rlp.gz"
    packed.write_bytes(gzip.compress(chain.read_bytes()))
    for name, path in [("plain", chain), ("packed", packed)]:
        ended = import_chain(tmp_path / name, genesis, [path])
        assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, HEAD)
    with packed.open("rb") as stdin:
        arguments = ("import", "eth", "--data", str(tmp_path / "piped"), "--genesis", str(genesis), "-")
        ended = run(*arguments, stdin=stdin)
    assert (ended.returncode, ended.stdout.splitlines()[-1]) == (0, HEAD)


def test_a_second_import_of_a_file_changes_nothing(chain: Path, genesis: Path, tmp_path: Path) -> None:
    for _ in range(2):
        ended = import_chain(tmp_path, genesis, [chain])
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, HEAD + "\n", "")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux makes holes in files")
def test_an_import_leaves_no_free_pages_on_the_disk(chain: Path, genesis: Path, tmp_path: Path) -> None:
    assert import_chain(tmp_path, genesis, [chain]).returncode == 0
    store = tmp_path / "eth" / "chain"
    left = disk_bytes(store)
    assert left < (store / "data.mdb").stat().st_size
    release_free_pages(store)
    assert disk_bytes(store) == left


def test_free_pages_that_cannot_be_given_back_are_told_and_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    give_back(partial(release_free_pages, tmp_path / "absent"))
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"note: free pages stay on the disk: {tmp_path / 'absent'}")


def test_only_a_new_chain_needs_its_genesis(chain: Path, genesis: Path, tmp_path: Path) -> None:
    arguments = ("import", "eth", "--data", str(tmp_path), str(chain))
    refused = run(*arguments)
    assert (refused.returncode, "--genesis" in refused.stderr) == (1, True)
    assert import_chain(tmp_path, genesis, [chain]).returncode == 0
    again = run(*arguments)
    assert (again.returncode, again.stdout, again.stderr) == (0, HEAD + "\n", "")


def test_a_damaged_block_ends_the_import_and_what_was_valid_stays(
    chain: Path, genesis: Path, tmp_path: Path
) -> None:
    content = bytearray(chain.read_bytes())
    content[-40] ^= 1
    damaged = tmp_path / "damaged.rlp"
    damaged.write_bytes(content)
    ended = import_chain(tmp_path / "data", genesis, [damaged])
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-1].startswith("head 53 0x")
    assert only_line(ended.stderr).startswith("error: block 54 (0x")
    again = import_chain(tmp_path / "data", genesis, [chain])
    assert (again.returncode, again.stdout) == (0, HEAD + "\n")


def test_a_truncated_file_is_named_with_the_byte(chain: Path, genesis: Path, tmp_path: Path) -> None:
    content = chain.read_bytes()
    short = tmp_path / "short.rlp"
    short.write_bytes(content[:-7])
    ended = import_chain(tmp_path / "data", genesis, [short])
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[-1].startswith("head 53 0x")
    assert only_line(ended.stderr).startswith(f"error: {short}: byte ")


def test_a_file_that_is_no_chain_leaves_the_genesis(genesis: Path, tmp_path: Path) -> None:
    ended = import_chain(tmp_path / "data", genesis, [genesis])
    assert (ended.returncode, ended.stdout) == (1, GENESIS_HEAD + "\n")
    only_line(ended.stderr)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"fooTime": 7}, "fooTime"), ({"amsterdamTime": 0}, "amsterdam"), ({"chainId": "x"}, "chainId")],
)
def test_a_genesis_that_is_not_understood_is_refused(
    change: dict[str, Any], named: str, chain: Path, genesis: Path, tmp_path: Path
) -> None:
    content = json.loads(genesis.read_bytes())
    content["config"] |= change
    changed = tmp_path / "genesis.json"
    changed.write_text(json.dumps(content))
    ended = import_chain(tmp_path / "data", changed, [chain])
    assert ended.returncode == 1
    assert named in only_line(ended.stderr)


def test_another_genesis_than_the_folders_is_refused(
    chain: Path, genesis: Path, imported: Path, tmp_path: Path
) -> None:
    data = copytree(imported, tmp_path / "data")
    content = json.loads(genesis.read_bytes()) | {"extraData": "0x00"}
    other = tmp_path / "genesis.json"
    other.write_text(json.dumps(content))
    ended = import_chain(data, other, [chain])
    assert ended.returncode == 1
    assert "genesis" in only_line(ended.stderr)
    assert import_chain(data, genesis, [chain]).stdout == HEAD + "\n"


def test_wrong_usage_has_its_own_exit_status(tmp_path: Path) -> None:
    assert run("import", "eth", "--data", str(tmp_path)).returncode == 2
    assert run("serve").returncode == 2
    assert run("no-such-command").returncode == 2


@pytest.mark.parametrize(
    ("address", "what", "right"),
    [
        ("localhost:99999", "'99999' is no port", "localhost:8545"),
        ("localhost", "it has no port", "localhost:8545"),
        (":x", "'x' is no port", "127.0.0.1:8545"),
        (":8545", "it has no host", "0.0.0.0:8545"),
        ("::1", "an IPv6 host stands in brackets", "[::1]:8545"),
        ("", "it has no port", "127.0.0.1:8545"),
    ],
)
@pytest.mark.parametrize("command", [("dev",), ("demo",), ("serve", "--data", "none")])
def test_what_is_no_address_is_said_with_the_right_form(
    command: tuple[str, ...], address: str, what: str, right: str
) -> None:
    ended = CliRunner().invoke(app, (*command, "--listen", address))
    assert ended.exit_code == 2
    message = ended.stderr.splitlines()[-1]
    assert f"cannot listen on {address!r}" in message
    assert what in message
    assert right in message


@pytest.mark.parametrize(
    ("option", "command"),
    [
        ("--journal", ("dev",)),
        ("--journal", ("follow", "--data", "none", "--upstream", "ws://one")),
        ("--journal", ("demo",)),
        ("--journal", ("import", "eth", "--data", "none", "none.rlp")),
        ("--journal", ("serve", "--data", "none", "--engine", "8551")),
        ("--journal", ("replica", "--data", "none")),
        ("--advertise", ("replica", "--data", "none", "--journal", "redis://one")),
        ("--upstream", ("follow", "--data", "none")),
    ],
)
def test_what_is_no_url_of_its_kind_is_wrong_usage_and_not_shown(
    option: str, command: tuple[str, ...]
) -> None:
    ended = CliRunner().invoke(app, (*command, option, "ftp://user:SECRET@one/SECRET"))
    assert (ended.exit_code, "SECRET" in ended.output) == (2, False)
    assert f"Invalid value for '{option}'" in ended.stderr


def test_a_wrong_address_of_a_configuration_is_named_with_its_setting(tmp_path: Path) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text('listen = "localhost"\n[networks.one]\ndata = "one"\n')
    ended = run("serve", "--config", str(file))
    assert ended.returncode == 1
    right = "it has no port; write HOST:PORT, such as localhost:8545"
    assert only_line(ended.stderr) == f"error: {file}: listen: cannot listen on 'localhost': {right}"


@pytest.mark.parametrize("options", [("--listen", "0"), ("--port", "0"), ("--host", "127.0.0.1", "-p", "0")])
def test_a_port_alone_is_one_of_this_machine(options: tuple[str, ...]) -> None:
    with started("dev", *options) as node:
        assert node.socket_url.startswith("ws://127.0.0.1:")
        assert call(node.http_url, "eth_chainId")["result"] == "0x7a69"


def test_an_address_is_given_in_one_way() -> None:
    ended = CliRunner().invoke(app, ("dev", "--listen", "8545", "--port", "8546"))
    assert (ended.exit_code, "give either" in ended.stderr) == (2, True)


def test_the_version_is_one_line() -> None:
    assert re.fullmatch(r"wsnode \d+\.\d+\.\d+\S*", only_line(run("--version").stdout))


def test_a_folder_without_a_chain_is_not_served(tmp_path: Path) -> None:
    ended = run("serve", "--data", str(tmp_path))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "holds no chain" in only_line(ended.stderr)


def test_an_address_in_use_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ended = run("demo", "--listen", address, "--data", str(tmp_path))
    assert ended.returncode == 1
    assert only_line(ended.stderr) == f"error: cannot listen on {address}: Address already in use"


def test_a_wrong_configuration_names_the_setting(tmp_path: Path) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text('[networks.one]\ndata = "one"\n[limits]\ncalls = "many"\n')
    ended = run("serve", "--config", str(file))
    assert ended.returncode == 1
    assert only_line(ended.stderr) == f"error: {file}: limits.calls: Expected `int`, got `str`"
    file.write_text('slow_subscriber = "drop"\n[networks.one]\ndata = "one"\n')
    told = only_line(run("serve", "--config", str(file)).stderr)
    assert told == f"error: {file}: slow_subscriber: Invalid enum value 'drop'"


def test_a_configuration_is_checked_without_a_node(tmp_path: Path) -> None:
    file, data = tmp_path / "wsnode.toml", tmp_path / "one"
    file.write_text('[networks.one]\ndata = "one"\n')
    ended = run("config", "check", str(file))
    assert (ended.returncode, ended.stdout) == (1, "")
    reason = f"networks.one: {data} holds no chain: `wsnode import` makes one"
    assert only_line(ended.stderr) == f"error: {file}: {reason}"
    (data / "eth").mkdir(parents=True)
    ended = run("config", "check", str(file))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1] == f"one: {data}, served as other processes write it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("opne = true\n[networks.one]\ndata = 'one'", "line 1: opne: unknown setting; the nearest is open"),
        (
            "[networks.one]\ndata = 'one'\n[limits]\n# few\nlog_results = 5",
            "line 5: limits.log_results: unknown setting; the nearest is limits.logs_results",
        ),
        ("[limts]\n[networks.one]\ndata = 'one'", "line 1: limts: unknown setting; the nearest is limits"),
        (
            "[networks.one]\ndata = 'one'\nhost = []",
            "line 3: networks.one.host: unknown setting; the nearest is networks.one.hosts",
        ),
        (
            "[networks.one]\ndata = 'one'\n[networks.one.partner]\nxyz = 1",
            "line 4: networks.one.partner.xyz: unknown setting; there are stale_after, url",
        ),
    ],
)
def test_an_unknown_setting_is_named_with_its_line_and_the_nearest_known_one(
    text: str, message: str, tmp_path: Path
) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text(text)
    ended = CliRunner().invoke(app, ("serve", "--config", str(file)))
    assert (ended.exit_code, only_line(ended.stderr)) == (1, f"error: {file}: {message}")


def test_a_folder_of_another_genesis_is_said_with_both_and_what_made_it(
    chain: Path, genesis: Path, tmp_path: Path
) -> None:
    with started("dev", "--listen", "0", "--data", str(tmp_path)) as node:
        own = call(node.http_url, "eth_getBlockByNumber", "0x0", False)["result"]["hash"]
    ended = import_chain(tmp_path, genesis, [chain])
    assert ended.returncode == 1
    holds = f"{tmp_path / 'eth'} holds the chain of genesis {own}, which `wsnode dev` made"
    given = GENESIS_HEAD.split()[-1]
    assert only_line(ended.stderr) == f"error: {holds}, not of {given}: take another folder"
    assert "which `wsnode dev` made" in only_line(
        run("demo", "--listen", "0", "--data", str(tmp_path)).stderr
    )


def test_keys_open_a_served_chain_and_stop_opening_it(imported: Path, tmp_path: Path) -> None:
    copytree(imported, tmp_path, dirs_exist_ok=True)
    at = ("--data", str(tmp_path))
    with started("serve", *at, "--listen", "127.0.0.1:0") as node:
        bounds = ("--method", "eth_*", "--subscriptions", "2")
        key = only_line(run("keys", "add", "bot", *at, *bounds).stdout)
        assert key not in (tmp_path / "keys.json").read_text()
        url = node.http_url.replace("<API_KEY>", key)
        assert call(url, "eth_blockNumber")["result"] == "0x36"
        assert call(url, "net_version")["error"]["code"] == -32601
        assert call(node.http_url, "eth_blockNumber")["error"]["message"].startswith(
            "invalid API key; `wsnode keys add`"
        )
        listed = only_line(run("keys", "list", *at).stdout).split("\t")
        assert (listed[0], json.loads(listed[2])) == ("bot", {"subscriptions": 2, "methods": ["eth_*"]})
        with connect(node.socket_url.replace("<API_KEY>", key)) as connection:
            assert run("keys", "revoke", "bot", *at).returncode == 0
            with pytest.raises(ConnectionClosed):
                connection.recv(timeout=PATIENCE)
        assert call(url, "eth_blockNumber")["error"]["message"].startswith(
            "invalid API key; `wsnode keys add`"
        )
    assert only_line(run("keys", "revoke", "bot", *at).stderr) == "error: there is no key named bot"


def test_the_demo_answers_over_both_transports(demo: Node) -> None:
    request = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "eth_chainId"})
    expected = {"jsonrpc": "2.0", "id": 7, "result": "0x7a69"}
    assert json.loads(post(demo.http_url, request)) == expected
    assert json.loads(post(demo.bare(demo.http_url), request)) == expected
    for url in (demo.socket_url, demo.bare(demo.socket_url)):
        with conversation(url) as send:
            assert json.loads(send(request)) == expected


def test_the_demo_has_a_token_with_balances_and_a_revert(demo: Node) -> None:
    token = "0x5fbdb2315678afecb367f032d93f642f64180aa3"
    holder = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
    balance = call(
        demo.http_url, "eth_call", {"to": token, "data": "0x70a08231" + holder[2:].rjust(64, "0")}, "latest"
    )
    assert int(balance["result"], 16) > 10**18
    logs = call(demo.http_url, "eth_getLogs", {"address": token, "fromBlock": "0x0", "toBlock": "latest"})
    assert len(logs["result"]) > 80
    failed = [
        receipt
        for number in range(10, 41, 10)
        for receipt in call(demo.http_url, "eth_getBlockReceipts", hex(number))["result"]
        if receipt["status"] == "0x0"
    ]
    assert len(failed) == 4
    transaction = call(demo.http_url, "eth_getTransactionByHash", failed[0]["transactionHash"])["result"]
    again = {"from": transaction["from"], "to": token, "data": transaction["input"]}
    error = call(demo.http_url, "eth_call", again, "latest")["error"]
    assert (error["code"], error["message"]) == (3, "execution reverted: Token: insufficient balance")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 1012), (signal.SIGINT, 1001)])
def test_a_signal_ends_the_node_with_a_goodbye(number: signal.Signals, code: int, tmp_path: Path) -> None:
    with (
        started("demo", "--listen", "127.0.0.1:0", "--data", str(tmp_path)) as node,
        connect(node.socket_url) as connection,
    ):
        assert node.stop(number) == 0
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == code


def test_a_subscription_survives_a_restart_by_the_cursor_that_it_is_told(tmp_path: Path) -> None:
    arguments = ("demo", "--listen", "127.0.0.1:0", "--data", str(tmp_path))
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "eth_subscribe",
        "params": ["newHeads", {"cursors": True}],
    }
    with started(*arguments) as node, connect(node.socket_url) as connection:
        connection.send(json.dumps(request))
        identity = json.loads(connection.recv())["result"]
        node.process.send_signal(signal.SIGTERM)
        told = json.loads(connection.recv())["params"]
        while "error" not in told:
            told = json.loads(connection.recv())["params"]
        assert (told["subscription"], told["error"]["code"]) == (identity, -32006)
        with pytest.raises(ConnectionClosed) as closed:
            connection.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1012
    request["params"] = ["newHeads", {"cursor": told["error"]["data"]["cursor"]}]
    with started(*arguments) as node, connect(node.socket_url) as connection:
        connection.send(json.dumps(request))
        assert json.loads(connection.recv())["result"] != identity


def test_a_second_signal_ends_the_node_at_once(tmp_path: Path) -> None:
    with started("demo", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")):
        pass
    file = tmp_path / "wsnode.toml"
    patient = "[limits]\nclose_seconds = 600\nclose_on_shutdown_seconds = 600\n"
    file.write_text(f'open = true\nlisten = "127.0.0.1:0"\n[networks.one]\ndata = "data"\n{patient}')
    with started("serve", "--config", str(file)) as node:
        address = node.socket_url.split("/")[2].split(":")
        with socket.create_connection((address[0], int(address[1]))) as silent:
            silent.sendall(HANDSHAKE)
            assert silent.recv(4096).startswith(b"HTTP/1.1 101 ")
            node.process.send_signal(signal.SIGTERM)
            assert silent.recv(4096).startswith(b"\x88")
            assert node.process.poll() is None
            assert node.stop(signal.SIGINT) == 0


def test_a_hangup_brings_new_limits_and_says_what_needs_a_restart(tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "wsnode.toml"
    with started("demo", "--listen", "127.0.0.1:0", "--data", str(data)):
        pass
    told = 'open = true\nlisten = "127.0.0.1:0"\n[networks.one]\ndata = "data"\n'
    file.write_text(told)
    command = ("serve", "--config", str(file), "--limit", "calls=33")
    with started(*command) as node, connect(node.socket_url) as connection:

        def limits() -> dict[str, int]:
            connection.send('{"jsonrpc":"2.0","id":1,"method":"rpc_limits"}')
            return dict(json.loads(connection.recv())["result"]["server"])

        def batch_items() -> int:
            return limits()["batch_items"]

        assert batch_items() == 1000
        changes = (
            *("batch_items = 'many'", "threads = 0", "# caf\xe9"),
            "batch_items = 7\nlogs_results = 5\ncalls = 44",
        )
        for change in changes:
            file.write_bytes(f"{told}[limits]\n{change}\n".encode("latin-1"))
            node.process.send_signal(signal.SIGHUP)
            # Signals that come before the last one was looked at count as one.
            for _ in range(5):
                assert batch_items() in (1000, 7)
        end = time.monotonic() + PATIENCE
        while batch_items() != 7 and time.monotonic() < end:
            time.sleep(0.02)
        assert batch_items() == 7
        # A limit of the command line stays in place of the file's.
        assert limits()["calls"] == 33


def asked(url: str, **headers: str) -> int:
    """Return the status of a call with these headers."""
    request = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
    sent = urllib.request.Request(url, request, {"Content-Type": "application/json", **headers})
    try:
        with urllib.request.urlopen(sent, timeout=PATIENCE) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_a_chain_of_this_machine_is_for_its_own_names_and_pages_and_those_given() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        url = node.bare(node.http_url)
        assert asked(url) == asked(url, Origin="http://localhost:5173") == 200
        assert asked(url, Origin="chrome-extension://nkbihfbeogaeaoehlefnkodbefgpgknn") == 200
        assert asked(url, Origin="https://evil.example") == 403
        assert asked(url, Host="evil.example") == 403
        with (
            pytest.raises(InvalidStatus, match="403"),
            connect(node.socket_url, origin=Origin("https://a.example")),
        ):
            pass
    given = ("--origin", "https://remix.example", "--vhost", "node.example")
    with started("dev", "--listen", "127.0.0.1:0", *given) as node:
        url = node.bare(node.http_url)
        assert asked(url, Origin="https://remix.example", Host="node.example") == 200
        assert asked(url, Origin="http://localhost:5173") == 200
        assert asked(url, Origin="https://evil.example") == 403
    with started("dev", "--listen", "127.0.0.1:0", "--origin", "*", "--vhost", "*") as node:
        assert asked(node.bare(node.http_url), Origin="https://evil.example", Host="evil.example") == 200


@pytest.mark.parametrize(
    "options",
    [("--requests-per-second", "nan"), ("--burst", "inf"), ("--cost", "eth_call=inf"), ("--cost", "a=nan")],
    ids=" ".join,
)
def test_a_key_has_no_rate_that_cannot_be_kept(tmp_path: Path, options: tuple[str, str]) -> None:
    ended = CliRunner().invoke(app, ["keys", "add", "bot", "--data", str(tmp_path), *options])
    assert ended.exit_code == 2
    assert options[1] in ended.output or "nan" in ended.output
    assert not (tmp_path / "keys.json").exists()


@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_blocks_come_at_times_that_there_are(seconds: str) -> None:
    ended = CliRunner().invoke(app, ["dev", "--port", "0", "--block-time", seconds])
    assert ended.exit_code == 2
    assert "--block-time" in ended.output


def test_a_node_whose_store_was_cut_short_does_not_start(chain: Path, genesis: Path, tmp_path: Path) -> None:
    assert import_chain(tmp_path, genesis, [chain]).returncode == 0
    file = tmp_path / "eth/chain/data.mdb"
    os.truncate(file, file.stat().st_size // 2)
    for command in (("serve", "--listen", "127.0.0.1:0"), ("import", "eth", str(chain))):
        ended = run(*command, "--data", str(tmp_path))
        assert ended.returncode == 1
        assert only_line(ended.stderr).startswith(f"error: {file}: the file is cut short: it has ")


def page(url: str, path: str) -> int:
    """Return the status of a page."""
    place = urlsplit(url)
    try:
        with urllib.request.urlopen(f"http://{place.netloc}{path}", timeout=PATIENCE) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code


def test_metrics_are_on_an_address_of_their_own_where_keys_are_asked_for(imported: Path) -> None:
    at = ("--data", str(imported), "--listen", "127.0.0.1:0")
    with started("serve", *at, "--open") as node:
        assert page(node.http_url, "/metrics") == page(node.http_url, "/healthz") == 200
    with started("serve", *at) as node:
        assert page(node.http_url, "/metrics") == 404
        assert page(node.http_url, "/readyz") == 200
    with kept_address() as own, started("serve", *at, "--open", "--metrics-listen", own) as node:
        assert page(node.http_url, "/metrics") == 404
        assert page(node.http_url, "/healthz") == 200
        for path in ("/metrics", "/healthz", "/readyz"):
            assert page(f"http://{own}", path) == 200
        assert asked(f"http://{own}/") == 404
        with pytest.raises(InvalidStatus, match="404"), connect(f"ws://{own}/ws/v3/key"):
            pass


def test_metrics_can_be_switched_off(imported: Path, tmp_path: Path) -> None:
    (tmp_path / "data").symlink_to(imported)
    file = tmp_path / "wsnode.toml"
    file.write_text(
        'open = true\nlisten = "127.0.0.1:0"\n[networks.one]\ndata = "data"\n[metrics]\nenabled = false\n'
    )
    with started("serve", "--config", str(file)) as node:
        assert page(node.http_url, "/metrics") == 404
        assert page(node.http_url, "/healthz") == 200


def test_two_demos_are_the_same_chain(demo: Node, tmp_path: Path) -> None:
    with started("demo", "--listen", "127.0.0.1:0", "--data", str(tmp_path)) as other:
        hashes = {
            call(node.http_url, "eth_getBlockByNumber", hex(SCRIPTED), False)["result"]["hash"]
            for node in (demo, other)
        }
    assert len(hashes) == 1


def test_a_kept_development_chain_says_the_id_that_it_was_given(tmp_path: Path) -> None:
    arguments = ("dev", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"))
    with started(*arguments) as node:
        change = {"jsonrpc": "2.0", "id": 1, "method": "anvil_setChainId", "params": [77]}
        post(node.bare(node.http_url), json.dumps(change))
    with started(*arguments) as node:
        asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
        assert json.loads(post(node.bare(node.http_url), json.dumps(asked)))["result"] == "0x4d"
        node.process.terminate()
        assert node.process.stdout is not None
        assert "A development chain (id 77)" in node.process.stdout.read()
