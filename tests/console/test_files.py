"""The page's files as a node serves them, and where it serves none."""

import json
import re
import shutil
import urllib.error
import urllib.request
from collections.abc import Iterator
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from tests.node_process import PATIENCE, Node, run, started
from wsnode.console.files import FOLDER, POLICY, Settings, console_files
from wsnode.demo import exchange, token
from wsnode.demo.accounts import ACCOUNTS, MNEMONIC, derived
from wsnode.ethereum.codec.addresses import checksummed

FILES = console_files(Settings(keys=False, metrics=True))
BROWSER = "text/html,application/xhtml+xml,*/*;q=0.8"
INLINE = re.compile(rb"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)|javascript:", re.IGNORECASE)
ELSEWHERE = re.compile(rb"(?:https?:)?//[a-z0-9-]+\.[a-z]+", re.IGNORECASE)
NAMESPACE = b"http://www.w3.org/2000/svg"


def fetch(url: str, **headers: str) -> tuple[int, Message, bytes]:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): headers[name] for name in headers})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def test_every_file_has_its_path_and_nothing_else_has() -> None:
    stored = {path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*") if path.is_file()}
    paths = {path.removeprefix("/console/") for path in FILES} - {"/", "settings.json"}
    assert paths == stored - {"index.html"}


@pytest.mark.parametrize("path", FILES)
def test_nothing_is_inline_and_nothing_comes_from_elsewhere(path: str) -> None:
    body = FILES[path].body.replace(NAMESPACE, b"")
    assert ELSEWHERE.search(body) is None
    if path == "/":
        assert INLINE.search(body) is None


def test_what_the_files_name_is_there() -> None:
    linked = re.findall(rb'(?:href|src)="(console/[^"]+)"', FILES["/"].body)
    assert {f"/{path.decode()}" for path in linked} <= FILES.keys()
    for path, file in FILES.items():
        for name in re.findall(rb'from "(\.[^"]+)"', file.body):
            assert str((Path(path).parent / name.decode()).resolve()) in FILES, (path, name)


def test_the_policy_lets_nothing_else_in() -> None:
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert "*" not in POLICY


def test_no_folder_of_the_page_is_a_hall() -> None:
    for folder in [FOLDER, *(path for path in FOLDER.rglob("*") if path.is_dir())]:
        assert len([path for path in folder.iterdir() if path.is_file()]) <= 16


def configure(imported: Path, folder: Path) -> tuple[Path, str]:
    """Return the configuration of a node with the page, and a key to its copy of a chain."""
    data, file = folder / "data", folder / "wsnode.toml"
    shutil.copytree(imported, data)
    file.write_text('listen = "127.0.0.1:0"\nconsole = true\n[networks.one]\ndata = "data"\n')
    added = run("keys", "add", "browser", "--data", str(data))
    assert added.returncode == 0, added.stderr
    return file, added.stdout.split()[-1]


@pytest.fixture(scope="module")
def configured(imported: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Node, str]]:
    """A node that asks for keys and has the page because its configuration says so, and a key."""
    folder = tmp_path_factory.mktemp("configured")
    file, key = configure(imported, folder)
    with started("serve", "--config", str(file)) as node:
        yield node, key


@pytest.mark.slow
def test_a_served_node_has_no_page(served: Node) -> None:
    status, headers, body = fetch(served.bare(served.http_url), Accept=BROWSER)
    assert (status, body, headers["Content-Security-Policy"]) == (200, b"", None)
    assert fetch(served.bare(served.http_url) + "console/main.js")[0] == 404


@pytest.mark.slow
def test_a_node_with_keys_has_no_page_either(imported: Path) -> None:
    with started("serve", "--data", str(imported), "--listen", "127.0.0.1:0") as node:
        assert fetch(node.bare(node.http_url), Accept=BROWSER)[0] == 404
        assert fetch(node.bare(node.http_url) + "console/settings.json")[0] == 404


@pytest.mark.slow
def test_a_configured_page_says_that_a_key_is_needed(configured: tuple[Node, str]) -> None:
    place = configured[0].bare(configured[0].http_url)
    status, headers, body = fetch(place, Accept=BROWSER)
    assert (status, headers["Content-Security-Policy"]) == (200, POLICY)
    assert body == (FOLDER / "index.html").read_bytes()
    told = json.loads(fetch(place + "console/settings.json")[2])
    assert told == {"keys": True, "metrics": False, "accounts": [], "contracts": {}}
    # Without the page, `/` of a node with keys leads nowhere, and it still does.
    assert fetch(place, Accept="application/json")[0] == 404


def shown(*arguments: str) -> dict[str, Any]:
    """Return what the page of a node is told of it."""
    with started(*arguments, "--listen", "127.0.0.1:0", "--quiet") as node:
        told: dict[str, Any] = json.loads(fetch(node.bare(node.http_url) + "console/settings.json")[2])
        return told


@pytest.mark.slow
def test_the_page_of_a_demo_is_told_its_accounts_their_keys_and_its_contracts() -> None:
    told = shown("demo")
    assert told["accounts"] == [
        {"address": checksummed(account.address), "key": f"0x{account.secret.hex()}"} for account in ACCOUNTS
    ]
    contracts = {"token": token.ADDRESS, "exchange": exchange.ADDRESS}
    assert told["contracts"] == {name: checksummed(address) for name, address in contracts.items()}


@pytest.mark.slow
def test_the_page_is_told_no_key_of_a_phrase_of_ones_own() -> None:
    assert [account["key"] for account in shown("dev", "--accounts", "12")["accounts"]] == [
        f"0x{account.secret.hex()}" for account in derived(MNEMONIC, 12)
    ]
    own = "legal winner thank year wave sausage worth useful legal winner thank yellow"
    (account,) = shown("dev", "--mnemonic", own, "--accounts", "1")["accounts"]
    assert account == {"address": checksummed(derived(own, 1)[0].address), "key": None}
