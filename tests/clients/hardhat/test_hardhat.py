"""Hardhat 3's network helpers and chai matchers, all of them, against `wsnode dev`."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.clients.node_modules import NEWER_NODE, node_in
from tests.clients.nodes import ADDRESSES
from tests.node_process import PATIENCE, Node, started

FOLDER: Final = Path(__file__).parent
MIN_NODE: Final = (22, 10)
"""Older ones are refused by Hardhat 3."""


def places() -> Iterator[Path]:
    """Yield where the modules may be installed, and a `bin/node` beside them."""
    if named := os.environ.get(NEWER_NODE):
        yield Path(named)
    yield FOLDER


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """Return `node` and a folder with the scripts; the tests are skipped where something is missing."""
    wanted = json.loads((FOLDER / "package.json").read_bytes())["dependencies"]
    for place in places():
        modules = place / "node_modules"
        if all((modules / name).is_dir() for name in wanted):
            break
    else:
        pytest.skip(f"no Hardhat 3: `npm ci` in {FOLDER.name}, or in a folder that {NEWER_NODE} names")
    if (node := node_in(place, MIN_NODE)) is None:
        pytest.skip(f"no `node` of {'.'.join(map(str, MIN_NODE))} or later, which Hardhat 3 needs")
    # Modules are looked for above the file that imports them, and nowhere else.
    folder = tmp_path_factory.mktemp("hardhat")
    (folder / "node_modules").symlink_to(modules.resolve(), target_is_directory=True)
    for path in [*FOLDER.glob("*.mjs"), FOLDER / "Probe.json", FOLDER / "package.json"]:
        shutil.copy(path, folder)
    return node, folder


@pytest.fixture(scope="module")
def development() -> Iterator[Node]:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        yield node


@pytest.mark.parametrize(
    "addresses", [pytest.param(["http"], marks=pytest.mark.nightly), ["bare http", "bare websocket"]]
)
@pytest.mark.parametrize("script", ["helpers.mjs", "matchers.mjs"])
@pytest.mark.slow
def test_all_of_them_work(
    script: str, addresses: list[str], workplace: tuple[str, Path], development: Node
) -> None:
    node, folder = workplace
    urls = [ADDRESSES[address](development) for address in addresses]
    command = [node, "--test-reporter=spec", script, *urls]
    environment = os.environ | {"HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", "HOME": str(folder)}
    ended = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=3 * PATIENCE,
        check=False,
    )
    assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"
