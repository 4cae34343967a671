"""Libraries that subscribe plainly live through a slow reader and the end of the node, as with anvil."""

import re
import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.clients.subscribers.chain import (
    EMIT_LONG_LOGS,
    EMITTER,
    LOGS,
    Chain,
    fallen_behind,
    place,
)
from tests.clients.subscribers.program import LIBRARIES, Program, Start, starter
from tests.clients.subscribers.proxy import Proxy
from tests.clients.subscribers.raw import RawSubscriber, subscribed
from tests.node_process import PATIENCE, started, until
from tests.peers.anvil import require, started_anvil

pytestmark = pytest.mark.slow

PAST_BLOCKS = 2
CLOSE_CODES = {signal.SIGTERM: 1012, signal.SIGINT: 1001}

PLAIN: list[list[Any]] = [
    ["newHeads"],
    ["logs", {"address": EMITTER}],
    ["newPendingTransactions"],
    ["logs", {"address": EMITTER, "fromBlock": "earliest", "toBlock": "latest"}],
    ["logs", {"address": EMITTER, "fromBlock": "0x0"}],
    ["newPendingTransactions", True],
    ["transactionReceipts"],
    ["syncing"],
]
ASKING: list[list[Any]] = [
    ["newHeads", {"cursors": True}],
    ["logs", {"address": EMITTER, "fromBlock": "earliest", "cursors": True}],
    ["newPendingTransactions", False, {"notices": True}],
]


class Outcome(msgspec.Struct, frozen=True):
    """What a library handed a plain subscriber, and how that ended."""

    before: list[dict[str, Any]]
    """What was said until the node ended."""
    after: list[dict[str, Any]]
    survived: bool
    """Whether the process went on when the node had ended."""
    exit_status: int
    complaints: str

    def of(self, kind: str) -> list[Any]:
        return [line[kind] for line in self.before if kind in line]

    def first_of_end(self) -> str:
        """Return what was said of the end first, without the close's code and reason."""
        first = next(filter(is_of_end, self.after))
        return re.sub(r"(close) \d+.*", r"\1", str(first.get("error", "closed")))


class Run(msgspec.Struct, frozen=True):
    """A node from its start to its end, and all that were subscribed to it."""

    outcomes: dict[str, Outcome]
    plain: RawSubscriber
    asking: RawSubscriber
    folder: Path
    subscribed: int
    """The number of the block at which all were subscribed."""
    height: int
    logs: list[tuple[int, int]]
    sent: list[str]


def is_of_end(line: dict[str, Any]) -> bool:
    """Return False for a notification: the last ones may still be on their way when the node is stopped."""
    return "error" in line or "closed" in line


def is_subscribed(program: Program) -> bool:
    return all(program.of(kind) for kind in ("head", "log", "pending"))


def has_head(program: Program, height: int) -> bool:
    return program.has_ended or height in program.of("head")


def has_all(program: Program, chain: Chain, height: int, logs: Sequence[tuple[int, int]]) -> bool:
    received = {tuple(each) for each in program.of("log")}
    seen = chain.sent[-1] in program.of("pending") and height in program.of("head")
    return program.has_ended or (seen and received.issuperset(each for each in logs if each >= min(received)))


def have_all(plain: RawSubscriber, asking: RawSubscriber, chain: Chain, height: int) -> bool:
    """Return whether both were told of the last call and its block by each subscription but `syncing`."""
    results = [*map(plain.results, range(7)), *map(asking.results, range(3))]
    if not all(results):
        return False
    heads, logs, pending = (
        [results[place][-1] for place in places] for places in ((0, 7), (1, 3, 4, 8), (2, 9))
    )
    (receipt,) = results[6][-1]
    numbers = {*(head["number"] for head in heads), *(log["blockNumber"] for log in (*logs, receipt))}
    return numbers == {hex(height)} and {*pending, results[5][-1]["hash"]} == {chain.sent[-1]}


@pytest.fixture(scope="module")
def starters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Start | str]:
    """Return what starts each library's program, or why it cannot be started."""
    workplace = tmp_path_factory.mktemp("programs")
    found: dict[str, Start | str] = {}
    for library in LIBRARIES:
        try:
            found[library] = starter(library, workplace)
        except pytest.skip.Exception as reason:
            found[library] = str(reason)
    return found


@contextmanager
def subscribers(
    starters: dict[str, Start | str], url: str
) -> Iterator[tuple[list[Program], list[Proxy], ExitStack]]:
    """Start all programs, each through a proxy of its own."""
    with ExitStack() as stack:
        proxies = [stack.enter_context(Proxy(url)) for _ in starters]
        started: list[Program] = []
        try:
            for start, proxy in zip(starters.values(), proxies, strict=True):
                if not isinstance(start, str):
                    started.append(start(proxy.url, EMITTER))
            yield started, proxies, stack
        finally:
            for program in started:
                program.end()


def end(programs: Sequence[Program], stop: Callable[[], object]) -> dict[str, Outcome]:
    """End the node, and then each program."""
    before = {program.name: list(program.said) for program in programs}
    stop()

    def has_heard(program: Program) -> bool:
        return program.has_ended or any(map(is_of_end, program.said[len(before[program.name]) :]))

    for program in programs:
        until(f"{program.name} hears of the end", partial(has_heard, program))
    outcomes = {}
    for program in programs:
        survived = not program.has_ended
        status = program.end()
        after = program.said[len(before[program.name]) :]
        outcomes[program.name] = Outcome(before[program.name], after, survived, status, program.complaints)
    return outcomes


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(signal.SIGTERM, id="SIGTERM"),
        pytest.param(signal.SIGINT, id="SIGINT", marks=pytest.mark.nightly),
    ],
)
def run(
    request: pytest.FixtureRequest,
    starters: dict[str, Start | str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Run:
    """Return the events of all while they read, while they did not, and at the end of the node."""
    folder = tmp_path_factory.mktemp("chain")
    # Who does not read sees no pings, and is not to be cut off for that.
    limit = ("--limit", f"ping_seconds={PATIENCE}")
    with started("dev", "--listen", "127.0.0.1:0", "--data", str(folder), *limit) as node:
        chain = Chain(node.http_url, EMIT_LONG_LOGS)
        for _ in range(PAST_BLOCKS):
            chain.emit()
        with subscribers(starters, node.socket_url) as (programs, proxies, stack):
            pauses = [stack.enter_context(Proxy(node.socket_url)) for _ in range(2)]
            plain, asking = (
                stack.enter_context(subscribed(proxy.url, *wanted))
                for proxy, wanted in zip(pauses, (PLAIN, ASKING), strict=True)
            )
            ready = lambda: all(map(is_subscribed, programs))  # noqa: E731
            chain.emit_until("all are subscribed", ready, pause=2)
            subscribed_at = chain.height
            for proxy in proxies + pauses:
                proxy.pause()
            slow = 3 * len(programs) + len(PLAIN) - 1 + len(ASKING)
            chain.fill(lambda: fallen_behind(node) >= slow)
            for proxy in proxies + pauses:
                proxy.go_on()
            logs = chain.logs()
            until("all catch up", lambda: len(asking.results(1)) == len(logs))
            for program in programs:
                until(f"{program.name} catches up", partial(has_head, program, chain.height))
            chain.emit()
            height, logs = chain.height, chain.logs()
            for program in programs:
                until(f"{program.name} has all", partial(has_all, program, chain, height, logs))
            until("the raw ones have all", lambda: have_all(plain, asking, chain, height))
            outcomes = end(programs, lambda: node.stop(request.param))
            plain.finish()
            asking.finish()
    assert plain.close_code == asking.close_code == CLOSE_CODES[request.param]
    return Run(outcomes, plain, asking, folder, subscribed_at, height, logs, chain.sent)


@pytest.fixture(scope="module")
def with_anvil(starters: dict[str, Start | str]) -> dict[str, Outcome]:
    """Return what happens to all when anvil ends."""
    require("anvil")
    with ExitStack() as stack:
        peer = stack.enter_context(ExitStack())
        url = peer.enter_context(started_anvil())
        chain = Chain(url)
        programs, _proxies, _stack = stack.enter_context(subscribers(starters, url.replace("http:", "ws:")))
        chain.emit_until("all are subscribed", lambda: all(map(is_subscribed, programs)), pause=2)
        return end(programs, peer.close)


def outcome_of(library: str, outcomes: dict[str, Outcome], starters: dict[str, Start | str]) -> Outcome:
    if isinstance(reason := starters[library], str):
        pytest.skip(reason)
    return outcomes[library]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_lives_on_and_its_callbacks_get_values(
    library: str, run: Run, starters: dict[str, Start | str]
) -> None:
    outcome = outcome_of(library, run.outcomes, starters)
    assert outcome.survived, outcome.complaints
    assert outcome.exit_status == 0
    for line in outcome.before + outcome.after:
        assert "undefined" not in str(line)
        assert None not in line.get("log", [])
    assert not [line for line in outcome.before if "error" in line or "closed" in line]


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_that_read_slowly_has_each_head_and_log_once(
    library: str, run: Run, starters: dict[str, Start | str]
) -> None:
    outcome = outcome_of(library, run.outcomes, starters)
    heads, logs = outcome.of("head"), [tuple(each) for each in outcome.of("log")]
    first = min(logs)
    # web3.js asks for the past by itself, after it has subscribed with the same first block.
    assert (first == (1, 0)) == (library == "web3js")
    twice = {number for (number, _), times in Counter(logs).items() if times > 1}
    # It hands on twice what was mined between the two.
    assert all(PAST_BLOCKS < number <= run.subscribed for number in twice)
    assert not twice or library == "web3js"
    expected = [each for each in run.logs if each >= first]
    assert sorted(logs) == sorted(expected + [each for each in expected if each[0] in twice])
    assert sorted(heads) == list(range(min(heads), run.height + 1))
    assert len(set(pending := outcome.of("pending"))) == len(pending)
    assert set(pending) <= set(run.sent)
    assert run.sent[-1] in pending


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_tells_of_the_end_as_with_anvil(
    library: str, run: Run, with_anvil: dict[str, Outcome], starters: dict[str, Start | str]
) -> None:
    outcome, peers = (outcome_of(library, outcomes, starters) for outcomes in (run.outcomes, with_anvil))
    # web3.js is handed no close where anvil ends without one.
    assert outcome.first_of_end() in ("closed", peers.first_of_end())
    assert (outcome.survived, outcome.exit_status) == (peers.survived, peers.exit_status)


def test_who_asked_for_nothing_sees_only_messages_that_geth_could_have_sent(run: Run) -> None:
    for message in run.plain.messages:
        assert list(message) == ["jsonrpc", "method", "params"]
        assert list(message["params"]) == ["subscription", "result"]
    told = [[place(log) for log in run.plain.results(number)] for number in (1, 3, 4)]
    # The first log that all have is of a block behind those that were there before.
    assert told[0] == [each for each in run.logs if each[0] > PAST_BLOCKS]
    assert told[0] == told[1] == told[2]
    heads = [int(head["number"], 16) for head in run.plain.results(0)]
    assert heads == list(range(PAST_BLOCKS + 1, run.height + 1))
    receipts = [int(receipt["blockNumber"], 16) for (receipt,) in run.plain.results(6)]
    assert receipts == sorted({number for number, _index in told[0]})
    assert run.plain.results(7) == []


def test_who_asked_sees_the_notices_and_loses_nothing(run: Run) -> None:
    asking = run.asking
    codes = [[error["code"] for error in asking.errors(number)] for number in range(3)]
    assert [some[-1] for some in codes] == [-32006] * 3
    assert all(set(some[:-1]) == {-32005} for some in codes)
    assert [place(log) for log in asking.results(1)] == run.logs
    missed = sum(error["data"].get("missed", 0) for error in asking.errors(2))
    assert len(asking.results(2)) + missed == len(run.sent) - PAST_BLOCKS
    cursors = [asking.errors(number)[-1]["data"]["cursor"] for number in range(2)]
    with started("dev", "--listen", "127.0.0.1:0", "--data", str(run.folder)) as node:
        chain = Chain(node.http_url, EMIT_LONG_LOGS)
        chain.emit()
        wanted: list[list[Any]] = [
            ["newHeads", {"cursor": cursors[0]}],
            ["logs", {"address": EMITTER, "cursor": cursors[1]}],
        ]
        with subscribed(node.socket_url, *wanted) as again:
            until("the rest is sent", lambda: len(again.results(1)) == LOGS and again.results(0))
        assert [place(log)[0] for log in again.results(1)] == [chain.height] * LOGS
        assert int(again.results(0)[-1]["number"], 16) == chain.height
        assert int(again.results(0)[0]["number"], 16) > run.height


def test_cast_follows_logs_from_now_on() -> None:
    with started("dev", "--listen", "127.0.0.1:0") as node:
        chain = Chain(node.http_url)
        for _ in range(3):
            chain.emit()
        command = [require("cast"), "logs", "--subscribe", "--address", EMITTER, "--rpc-url", node.socket_url]
        cast = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        blocks: list[int] = []

        def listen() -> None:
            assert cast.stdout is not None
            for line in cast.stdout:
                if found := re.search(r"blockNumber: (\d+)", line):
                    blocks.append(int(found[1]))

        reader = threading.Thread(target=listen)
        reader.start()
        try:
            chain.emit_until("cast is subscribed", lambda: blocks, pause=1)
            first = blocks[0]
            for _ in range(3):
                chain.emit()
            until("cast has the last log", lambda: blocks[-1] == chain.height)
        finally:
            cast.terminate()
            cast.wait(PATIENCE)
            reader.join()
            assert cast.stdout is not None
            cast.stdout.close()
        assert first > 3
        assert blocks == list(range(first, chain.height + 1))
