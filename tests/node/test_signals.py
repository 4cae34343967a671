"""Signals to a node that is starting: those that end no running node do not end it."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.node_process import COMMAND, PATIENCE, started, until
from wsnode.node.signals import HELD, hold_signals, open_signals

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data folder of a demo that has ended."""
    folder = tmp_path_factory.mktemp("demo")
    with started("demo", "--listen", "127.0.0.1:0", "--data", str(folder)):
        pass
    return folder


def is_held(process: int) -> bool:
    """Return whether a process blocks or catches each of the signals (proc_pid_status(5))."""
    fields = dict(line.split(":\t") for line in Path(f"/proc/{process}/status").read_text().splitlines())
    blocked, caught = (int(fields[name], 16) for name in ("SigBlk", "SigCgt"))
    # While a thread is made, all signals are blocked for a moment.
    is_passing = blocked >> signal.SIGTERM - 1 & 1
    return not is_passing and all((blocked | caught) >> number - 1 & 1 for number in HELD)


def signal_at_start(*arguments: str) -> None:
    """Start a node, send it each of the signals once it holds them, and end it once it is ready."""
    command = [*COMMAND, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            until("the signals are held", lambda: process.poll() is not None or is_held(process.pid))
            for number in HELD:
                os.kill(process.pid, number)
            assert any(line.startswith(("ready ", "Listening on ")) for line in process.stdout)
            process.terminate()
            assert process.wait(PATIENCE) == 0
        finally:
            process.kill()


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("dev",), id="dev"),
        pytest.param(("demo",), id="demo"),
        pytest.param(("anvil",), id="anvil"),
        pytest.param(("serve", "--data", "{folder}", "--open"), id="serve"),
        pytest.param(("serve", "--data", "{folder}", "--open", "--workers", "2"), id="workers"),
    ],
)
def test_a_starting_node_goes_on(folder: Path, arguments: tuple[str, ...]) -> None:
    port = ("--port", "0") if arguments[0] == "anvil" else ("--listen", "127.0.0.1:0")
    signal_at_start(*(each.format(folder=folder) for each in arguments), *port)


def test_a_node_that_follows_goes_on(folder: Path) -> None:
    with started("serve", "--data", str(folder), "--open", "--listen", "127.0.0.1:0") as upstream:
        options = ("--open", "--listen", "127.0.0.1:0", "--genesis", str(folder / "eth/genesis.json"))
        signal_at_start(
            "follow", *options, "--data", str(folder / "follow"), "--upstream", upstream.socket_url
        )


async def test_a_signal_that_came_before_is_obeyed_once_and_one_that_comes_after_ends_nothing() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    hold_signals()
    try:
        signal.raise_signal(signal.SIGHUP)
        with open_signals() as signals:
            assert await anext(signals) == signal.SIGHUP
        signal.raise_signal(signal.SIGHUP)
        # It is pending, and taken here.
        assert signal.sigwait(HELD) == signal.SIGHUP
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
