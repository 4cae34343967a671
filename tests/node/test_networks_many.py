"""One configuration of forty networks, each with stores of its own, in one process and in workers."""

import json
import shutil
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.node_process import PATIENCE, import_chain, started
from tests.vector_files import require_vectors

NETWORKS = 40
NUMBER = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("networks")
    vectors = require_vectors("execution-apis")
    imported = import_chain(root / "1", vectors / "genesis.json", [vectors / "chain.rlp"])
    assert imported.returncode == 0, imported.stderr
    return [root / "1", *(Path(shutil.copytree(root / "1", root / f"{n}")) for n in range(2, NETWORKS + 1))]


@pytest.mark.nightly
@pytest.mark.parametrize("workers", [1, 2])
def test_forty_networks_start_and_serve(folders: list[Path], tmp_path: Path, workers: int) -> None:
    lines = ['listen = "127.0.0.1:0"', "open = true", f"workers = {workers}"]
    for number, folder in enumerate(folders, 1):
        lines += [f"[networks.net{number}]", f'data = "{folder}"', f'hosts = ["net{number}.localhost"]']
    (tmp_path / "wsnode.toml").write_text("\n".join(lines))
    with started("serve", "--config", str(tmp_path / "wsnode.toml")) as node:
        address = urlsplit(node.http_url).netloc
        with closing(HTTPConnection(address, timeout=PATIENCE)) as connection:
            for number in range(1, NETWORKS + 1):
                host = {"Host": f"net{number}.localhost", "Content-Type": "application/json"}
                connection.request("POST", "/", NUMBER, host)
                assert json.load(connection.getresponse())["result"] == "0x36"
