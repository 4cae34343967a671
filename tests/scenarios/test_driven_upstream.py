"""`wsnode follow` of geth that a consensus client drives: traffic, reorganisations, kills and restarts."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.drawing import examples
from tests.node_process import COMMAND, kept_address, until
from tests.peers.processes.consensus_client import driven, genesis_file
from tests.peers.processes.daemon import Daemon
from tests.peers.processes.driven_geth import DrivenGeth, driven_geth
from tests.peers.processes.line import CutLine
from tests.peers.processes.log_keeper import LogKeeper
from wsnode.verify.differential import ComparisonPlan, DifferentialRun, asking, questions
from wsnode.verify.random_requests import METHODS, ChainMaterial

TRACERS: tuple[dict[str, Any], ...] = (
    {},
    {"tracer": "callTracer", "tracerConfig": {"withLog": True}},
    {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True}},
)
QUESTIONS = examples(1500)
CALLS = {"debug_traceCall", "eth_call", "eth_createAccessList", "eth_estimateGas", "eth_simulateV1"}
"""They are not of this chain, and geth has another gas cap for them."""
LEFT_OUT = CALLS | {"debug_executionWitness"}
"""geth's witnesses have code that the block made itself."""
LATEST_KILL = 0.4
"""Seconds after the end of a slot."""

SHORT = (("10:1", "20:4", "36:10"), 40)
LONG_DEPTHS = (1, 2, 3, 5, 7, 9, 12, 15, 18, 20)
LONG = (tuple(f"{28 * (turn + 1)}:{depth}" for turn, depth in enumerate(LONG_DEPTHS)), 300)


class Scene(NamedTuple):
    """geth, the line to it, the follower, and a client of the follower."""

    geth: DrivenGeth
    line: CutLine
    node: Daemon
    keeper: LogKeeper


@contextmanager
def scene(folder: Path, secret: Path) -> Iterator[Scene]:
    genesis = genesis_file()
    with driven_geth(folder, genesis, secret) as geth, kept_address() as listen:
        host, port = geth.url.removeprefix("http://").split(":")
        with CutLine((host, int(port))) as line:
            command = [*COMMAND, "follow", "--data", str(folder / "ours"), "--genesis", str(genesis)]
            command += ["--upstream", f"ws://{line.address}", "--listen", listen, "--open"]
            with (
                Daemon(command, f"http://{listen}/", folder / "ours.log") as node,
                LogKeeper(f"ws://{listen}/", {}) as keeper,
            ):
                yield Scene(geth, line, node, keeper)


@pytest.mark.parametrize(
    ("reorganisations", "slots", "kills"),
    [
        pytest.param(*SHORT, 0, id="40 slots", marks=pytest.mark.slow),
        pytest.param(*SHORT, 6, id="40 slots with kills", marks=pytest.mark.nightly),
        pytest.param(*LONG, 0, id="300 slots", marks=pytest.mark.soak),
        pytest.param(*LONG, 30, id="300 slots with kills", marks=pytest.mark.soak),
    ],
)
def test_every_block_log_and_trace_is_geths_and_a_client_has_each_log_once(
    reorganisations: tuple[str, ...], slots: int, kills: int, tmp_path: Path, secret: Path
) -> None:
    chance = random.Random(slots + kills)
    with scene(tmp_path, secret) as (geth, line, node, keeper):
        fatal = [node.kill_and_start, geth.restart, line.cut] * (kills // 3)
        chance.shuffle(fatal)
        moments = dict(zip(chance.sample(range(3, slots - 1), kills), fatal, strict=True))
        options = ("--slots", str(slots), "--requests", "--reorganise", *reorganisations)
        with driven([geth.endpoints], secret, *options) as lines:
            for told in lines:
                if (kill := moments.get(told.get("slot", -1))) is not None:
                    time.sleep(chance.uniform(0, LATEST_KILL))
                    kill()
        until("geth's head", lambda: node.head() == geth.head())
        check_blocks(geth, node)
        check_answers(geth, node)
        check_logs(geth, keeper)
        # A restart may fall into a reorganisation and leave its logs to the cursor.
        assert keeper.removed > 0
        assert keeper.connections > kills // 3


def check_blocks(geth: Daemon, node: Daemon) -> None:
    """Compare all that the two have of every block."""
    for number in range(geth.head()[0] + 1):
        calls: list[tuple[Any, ...]] = [("eth_getBlockByNumber", hex(number), True)]
        calls += [(method, hex(number)) for method in ("eth_getBlockReceipts", "debug_getRawReceipts")]
        calls += [("eth_getLogs", {"fromBlock": hex(number), "toBlock": hex(number)})]
        if number:
            calls += [("debug_traceBlockByNumber", hex(number), tracer) for tracer in TRACERS]
        for call in calls:
            assert node.ask(*call) == geth.ask(*call), call


def check_answers(geth: Daemon, node: Daemon) -> None:
    """Compare the replies to random questions of every method, errors by their codes."""
    with asking(geth.url) as theirs, asking(node.url) as ours:
        comparison = DifferentialRun(theirs, ours, ComparisonPlan())
        material = ChainMaterial.read(theirs, geth.head()[0], random.Random(1))
        for question in questions(material, sorted(METHODS.keys() - LEFT_OUT), QUESTIONS):
            comparison.ask(question)
        results = comparison.results()
        assert len(results) > len(METHODS) // 2
        assert [result for result in results if result.failures] == []


def check_logs(geth: Daemon, keeper: LogKeeper) -> None:
    """Compare the logs that a client kept with those of geth's chain."""
    expected = geth.ask("eth_getLogs", {"fromBlock": "0x0", "toBlock": "latest"})
    until("the last log", lambda: keeper.mistake is not None or keeper.logs == expected)
    assert keeper.mistake is None
    assert len(expected) > 100
