"""Programs of the current folder: a node and a measurement start processes that run none of them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent

import pytest

from tests.node_process import PATIENCE, started

pytestmark = pytest.mark.slow
CONSOLE_SCRIPT = dedent(
    """
    from wsnode.cli.main import main

    if __name__ == "__main__":
        main()
    """
)
NAMES = ("json", "logging", "msgspec", "multiprocessing", "runpy", "sitecustomize", "trio", "wsnode")
PLANTED = dedent(
    """
    import pathlib, sys

    pathlib.Path(__file__).with_suffix(".imported").write_text(repr(sys.orig_argv))
    raise ImportError("not this one")
    """
)


@pytest.fixture
def command(tmp_path: Path) -> tuple[str, str]:
    """Return a command as pip installs it: Python searches the folder of its file, not the current one."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "wsnode"
    script.write_text(CONSOLE_SCRIPT)
    return sys.executable, str(script)


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """Make a folder with modules that have the names of those that wsnode imports."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.py").write_text(PLANTED)
    return folder


def without_python() -> dict[str, str]:
    """Return the environment without the variables that Python reads."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@contextmanager
def serving(here: Path, *line: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(line, cwd=here, env=without_python(), stdout=subprocess.PIPE, text=True) as node:
        try:
            yield node
        finally:
            node.send_signal(signal.SIGTERM)
            node.communicate(timeout=PATIENCE)


def imported_of(here: Path) -> dict[str, str]:
    return {mark.stem: mark.read_text() for mark in here.glob("*.imported")}


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_no_process_of_a_node_imports_from_the_current_folder(
    here: Path, command: tuple[str, str], imported: Path, options: tuple[str, ...]
) -> None:
    told = ("serve", "--data", str(imported), "--listen", "127.0.0.1:0", "--open", *options)
    with serving(here, *command, *told) as node:
        assert node.stdout is not None
        assert any(line.startswith("ready ") for line in node.stdout)
    assert imported_of(here) == {}


def test_no_process_of_a_measurement_imports_from_the_current_folder(
    here: Path, command: tuple[str, str], imported: Path
) -> None:
    with started("serve", "--data", str(imported), "--listen", "127.0.0.1:0", "--open") as node:
        plan = ("--connections", "2", "--seconds", "0.5", "--processes", "2", "--json")
        line = [*command, "bench", node.socket_url, *plan]
        ended = subprocess.run(
            line,
            cwd=here,
            env=without_python(),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert imported_of(here) == {}
    assert json.loads(ended.stdout)["load"]["processes"] == 2, ended.stderr
