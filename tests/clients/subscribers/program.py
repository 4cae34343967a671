"""Programs that subscribe, each a process of its own that says what its library hands it."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.node_modules import FOLDER, require_modules, require_node
from tests.node_process import PATIENCE

SCRIPTS: Final = FOLDER / "subscribers"
GO: Final = FOLDER / "go"
LIBRARIES: Final = ("ethers5", "ethers6", "viem", "web3js", "web3_client", "go")


class Program:
    """A running subscriber, and what it has said."""

    def __init__(self, name: str, command: Sequence[str | Path], folder: Path) -> None:
        self.name = name
        self.said: list[dict[str, Any]] = []
        self._complaints: list[str] = []
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self._readers = [threading.Thread(target=read) for read in (self._listen, self._keep_complaints)]
        for reader in self._readers:
            reader.start()

    def of(self, kind: str) -> list[Any]:
        """Return what was said under a name, in its order."""
        return [line[kind] for line in list(self.said) if kind in line]

    @property
    def has_ended(self) -> bool:
        """Return whether the process is gone."""
        return self._process.poll() is not None

    @property
    def complaints(self) -> str:
        """Return what it wrote to standard error."""
        return "".join(self._complaints)

    def end(self) -> int:
        """Have it end, and return its exit status."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            return self._process.wait(PATIENCE)
        finally:
            self._process.kill()
            for reader in self._readers:
                reader.join()
            for stream in (self._process.stdout, self._process.stderr):
                assert stream is not None
                stream.close()

    def kill(self) -> None:
        """End one that does not end with its input."""
        self._process.kill()
        self.end()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self.said.append(json.loads(line))

    def _keep_complaints(self) -> None:
        assert self._process.stderr is not None
        self._complaints.extend(self._process.stderr)


Start = Callable[[str, str], Program]
"""Starts a subscriber of an address at a URL."""


def starter(library: str, workplace: Path) -> Start:
    """Return what starts subscribers with a library; the test is skipped where it is missing."""
    return {"go": _go, "web3_client": _python}.get(library, _javascript)(library, workplace)


def _python(library: str, workplace: Path) -> Start:
    pytest.importorskip("web3")
    command: list[str | Path] = [sys.executable, SCRIPTS / f"{library}.py"]
    return lambda url, address: Program(library, [*command, url, address], workplace)


def _javascript(library: str, workplace: Path) -> Start:
    node, modules = require_node(), require_modules()
    # Modules are looked for above the file that imports them, and nowhere else.
    if not (linked := workplace / "node_modules").exists():
        linked.symlink_to(modules.resolve(), target_is_directory=True)
        for path in SCRIPTS.glob("*.mjs"):
            shutil.copy(path, workplace)
    return lambda url, address: Program(library, [node, f"{library}.mjs", url, address], workplace)


def _go(library: str, workplace: Path) -> Start:
    program = go_program(".", workplace)
    return lambda url, address: Program(library, [program, url, address], workplace)


def go_program(package: str, workplace: Path) -> Path:
    """Return a program of a package with go-ethereum's client; the test is skipped where that is missing."""
    go = shutil.which("go")
    if go is None:
        pytest.skip("no `go` to build go-ethereum's client with")
    fetched = subprocess.run([go, "mod", "download"], cwd=GO, capture_output=True, text=True, check=False)
    if fetched.returncode != 0:
        pytest.skip(f"go-ethereum's client cannot be fetched: {fetched.stderr.strip()}")
    program = workplace / "go_program"
    built = subprocess.run(
        [go, "build", "-o", program, package], cwd=GO, capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return program
