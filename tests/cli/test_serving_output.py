"""What a node that serves a folder says when it starts: its addresses, its chains, and who may use them."""

import json
import shutil
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.node_process import import_chain, run, started
from tests.server.certificates import make_certificate
from tests.vector_files import require_vectors
from wsnode.release import release

pytestmark = pytest.mark.slow

HEAD = "54 0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"
Arguments = Callable[[Path, Path, Path], list[str]]


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("chain")
    vectors = require_vectors("execution-apis")
    assert import_chain(data, vectors / "genesis.json", [vectors / "chain.rlp"]).returncode == 0
    return data


@pytest.fixture
def data(chain: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(chain, tmp_path / "mychain"))


def in_options(data: Path, certificate: Path, key: Path) -> list[str]:
    return ["--data", str(data), "--open", "--tls-cert", str(certificate), "--tls-key", str(key)]


def in_file(data: Path, certificate: Path, key: Path) -> list[str]:
    file = data.parent / "wsnode.toml"
    tls = f'tls_cert = "{certificate}"\ntls_key = "{key}"\n'
    file.write_text(f'open = true\n{tls}[networks.main]\ndata = "{data}"\n')
    return ["--config", str(file)]


@pytest.mark.parametrize(
    ("arguments", "workers"),
    [
        pytest.param(in_options, "1", id="options"),
        pytest.param(in_file, "1", id="file"),
        pytest.param(in_file, "2", id="file-and-workers"),
    ],
)
def test_the_addresses_of_an_encrypted_node_have_the_schemes_of_tls(
    data: Path, tmp_path: Path, arguments: Arguments, workers: str
) -> None:
    certificate, key = make_certificate(tmp_path / "tls", "IP:127.0.0.1")
    told = arguments(data, certificate, key)
    with started("serve", *told, "--workers", workers, "--listen", "127.0.0.1:0") as node:
        assert node.socket_url.startswith("wss://127.0.0.1:")
        assert node.http_url.startswith("https://127.0.0.1:")
        context = ssl.create_default_context(cafile=certificate)
        with connect(node.socket_url, ssl=context) as connection:
            connection.send('{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}')
            assert json.loads(connection.recv())["result"] == "0x36"


def lines_at_start(log: Path, *arguments: str) -> list[str]:
    """Return what a node has logged when it is ready, as JSON."""
    with log.open("w") as stderr, started(*arguments, "--log-format", "json", stderr=stderr):
        pass
    return log.read_text().splitlines()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_node_logs_version_folder_network_and_head_once(data: Path, tmp_path: Path, workers: str) -> None:
    arguments = ("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--open", "--workers", workers)
    lines = [json.loads(line) for line in lines_at_start(tmp_path / "log", *arguments)]
    (line,) = [line for line in lines if line["message"] == "serves a network"]
    told = {name: line[name] for name in ("version", "network", "folder", "eth_head")}
    assert told == {"version": release(), "network": "mychain", "folder": str(data), "eth_head": HEAD}
    assert not [line for line in lines if "API key" in line["message"]]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_node_without_keys_says_how_to_add_one_or_open_it(data: Path, tmp_path: Path, workers: str) -> None:
    arguments = ("serve", "--data", str(data), "--listen", "127.0.0.1:0", "--workers", workers)
    (line,) = [line for line in lines_at_start(tmp_path / "log", *arguments) if "API key" in line]
    told = json.loads(line)
    assert told["level"] == "warning"
    assert f"wsnode keys add NAME --data {data}" in told["message"]
    assert "--open" in told["message"]

    assert run("keys", "add", "mine", "--data", str(data)).returncode == 0
    assert not [line for line in lines_at_start(tmp_path / "log", *arguments) if "API key" in line]


def test_a_restored_snapshot_says_how_to_add_a_key_until_there_is_one(data: Path, tmp_path: Path) -> None:
    # The keys of the copied folder do not come with it.
    assert run("keys", "add", "mine", "--data", str(data)).returncode == 0
    copy, restored = tmp_path / "copy", tmp_path / "restored"
    assert run("snapshot", "--data", str(data), str(copy)).returncode == 0
    told = run("restore", "--data", str(restored), str(copy))
    assert (told.returncode, told.stdout) == (0, f"head {HEAD}\n")
    assert f"`wsnode keys add NAME --data {restored}`" in told.stderr

    arguments = ("serve", "--data", str(restored), "--listen", "127.0.0.1:0")
    (line,) = [line for line in lines_at_start(tmp_path / "log", *arguments) if "API key" in line]
    warning = json.loads(line)
    assert warning["level"] == "warning"
    assert f"wsnode keys add NAME --data {restored}" in warning["message"]
    assert "--open" in warning["message"]

    assert run("keys", "add", "mine", "--data", str(restored)).returncode == 0
    assert not [line for line in lines_at_start(tmp_path / "log", *arguments) if "API key" in line]
