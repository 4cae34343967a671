"""Bots as the libraries' documentation has them, and with the one line changed that docs/clients names."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.node_modules import require_modules, require_node
from tests.clients.subscribers.program import SCRIPTS, Program

FOLDER: Final = Path(__file__).parent
CLIENTS: Final = FOLDER.parents[2] / "docs/clients"
CHANGED: Final = {
    "viem": (
        "const transport = webSocket(url);",
        'const transport = (await import("./resuming_viem.js")).resuming(url);',
    ),
    "ethers": (
        "const provider = new WebSocketProvider(url);",
        'const provider = new (await import("./resuming_ethers.js")).ResumingProvider(url);',
    ),
    "web3": (
        "provider = WebSocketProvider(url)",
        'provider = __import__("resuming_web3").ResumingProvider(url)',
    ),
}
"""What stands in a stock bot, and what takes its place."""
LIBRARIES: Final = (*CHANGED, "trio")
JAVASCRIPT: Final = ("viem", "ethers")


class Bots:
    """Starts programs in a folder that has all of docs/clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._has_modules = False
        for path in [
            *CLIENTS.glob("*_*.py"),
            *CLIENTS.glob("*.ts"),
            *FOLDER.glob("*.*"),
            SCRIPTS / "said.mjs",
        ]:
            shutil.copy(path, folder)

    def start(
        self,
        library: str,
        *arguments: str,
        script: str = "bot",
        is_changed: bool = True,
        is_compiled: bool = False,
    ) -> Program:
        """Start a script of a library; the test is skipped where something is missing.

        `is_compiled`: whether the script is in TypeScript.
        """
        suffix = "js" if is_compiled else "mjs"
        name = f"{script}_{library}.{suffix if library in JAVASCRIPT else 'py'}"
        if is_changed and library in CHANGED:
            stock, changed = CHANGED[library]
            text = (self.folder / name).read_text()
            assert text.count(stock) == 1
            name = f"changed_{name}"
            (self.folder / name).write_text(text.replace(stock, changed))
        return Program(library, [*self._interpreter(library), name, *arguments], self.folder)

    def _interpreter(self, library: str) -> Sequence[str]:
        if library not in JAVASCRIPT:
            pytest.importorskip("web3" if library == "web3" else "trio_websocket")
            return [sys.executable]
        node = require_node()
        if not self._has_modules:
            self._compile(node)
        return [node]

    def _compile(self, node: str) -> None:
        modules = require_modules().resolve()
        # Modules are looked for above the file that imports them, and nowhere else.
        (self.folder / "node_modules").symlink_to(modules, target_is_directory=True)
        (self.folder / "package.json").write_text('{"type": "module"}')
        compiled = subprocess.run(
            [node, modules / "typescript/bin/tsc", "--project", "."],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert compiled.returncode == 0, compiled.stdout
        self._has_modules = True


def first_block(places: Sequence[Sequence[Any]], canonical: Sequence[tuple[int, str, int]]) -> int:
    """Return the number of the first block of which a bot heard."""
    heard = {(block, index) for block, index, *_rest in places}
    return min(number for number, block, index in canonical if (block, index) in heard)


def wrong(places: Sequence[Sequence[Any]], canonical: Sequence[tuple[int, str, int]], first: int) -> str:
    """Return what a bot has not heard exactly once, from a block on; empty if nothing."""
    standing: dict[tuple[str, int], int] = {}
    for block, index, removed, *_number in places:
        standing[block, index] = standing.get((block, index), 0) + (-1 if removed else 1)
        if standing[block, index] not in (0, 1):
            return f"twice: {block} {index}, removed: {removed}"
    has = {place for place, times in standing.items() if times}
    wanted = {(block, index) for number, block, index in canonical if number >= first}
    return " ".join(
        f"{name}: {sorted(some)}"
        for name, some in (("missing", wanted - has), ("gone", has - wanted))
        if some
    )
