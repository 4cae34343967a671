"""Processes of a node that are killed before they serve, as by a system that is short of memory."""

import os
import shutil
import signal
import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from tests.node_process import COMMAND, PATIENCE

pytestmark = pytest.mark.slow
# Python itself imports this before a process of the node has done anything. Only the process that removes a
# file is killed: two may find it at the same moment.
DOOM = dedent(
    """
    import contextlib, os, pathlib, signal, sys

    if "wsnode.node.workers.serving.worker" in sys.orig_argv:
        for doom in pathlib.Path(__file__).parent.glob("*.doom"):
            with contextlib.suppress(FileNotFoundError):
                doom.unlink()
                os.kill(os.getpid(), signal.SIGKILL)
    """
)


def begin(folder: Path, data: Path, kills: int, command: str, *more: str) -> subprocess.Popen[str]:
    """Start a node of which a number of processes are killed, the first ones."""
    (folder / "sitecustomize.py").write_text(DOOM)
    for place in range(kills):
        (folder / f"{place}.doom").touch()
    searched = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))
    options = ("--data", str(data), "--listen", "127.0.0.1:0", "--open", "--workers", "2", *more)
    return subprocess.Popen(
        [*COMMAND, command, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": searched},
    )


@pytest.mark.parametrize(("command", "more"), [("serve", ()), ("follow", ("--upstream", "ws://127.0.0.1:1"))])
def test_a_process_that_is_killed_before_it_is_ready_is_replaced(
    imported: Path, tmp_path: Path, command: str, more: tuple[str, ...]
) -> None:
    shutil.copytree(imported, tmp_path / "data")
    with begin(tmp_path, tmp_path / "data", 1, command, *more) as node:
        assert node.stdout is not None
        assert any(line.startswith("ready ") for line in node.stdout)
        node.send_signal(signal.SIGTERM)
        _out, said = node.communicate(timeout=PATIENCE)
    assert node.returncode == 0
    assert said.count(" has ended (-9) and is replaced in 0.1 s") == 1


def test_a_node_whose_processes_are_all_killed_ends_with_a_line(imported: Path, tmp_path: Path) -> None:
    with begin(tmp_path, imported, 100, "serve") as node:
        out, said = node.communicate(timeout=PATIENCE)
    assert node.returncode == 1
    assert out == ""
    assert said.splitlines()[-1].endswith("ended before it was ready")
    assert "Traceback" not in said
