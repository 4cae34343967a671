"""Bots with one line changed, as docs/clients says, hear each log once, whatever happens to the node."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest
from eth_account import Account

from tests.clients.resuming.bots import JAVASCRIPT, LIBRARIES, Bots, first_block, wrong
from tests.clients.resuming.relay import Relay
from tests.clients.resuming.storm import Chain, Storm, raised_storm
from tests.clients.subscribers.program import Program
from tests.geth_process import GETH, SPARING, Addresses, running
from tests.node_process import started, until
from tests.peers.anvil import started_anvil

pytestmark = pytest.mark.slow

SOAK_SECONDS = 600
KINDS = ("log", "rare", "head", "pending")
KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
CALLERS = ("viem", "ethers", "web3")
ERRORS = {"viem": "SocketClosedError", "ethers": "NETWORK_ERROR", "web3": "Web3RPCError"}


@pytest.fixture
def bots(tmp_path: Path) -> Bots:
    (folder := tmp_path / "bots").mkdir()
    return Bots(folder)


def has_more(count: Callable[[], int], before: int) -> bool:
    return count() > before


def are_alike(kind: str, stock: Program, changed: Program) -> bool:
    told = stock.of(kind)
    return bool(told == changed.of(kind)[-len(told) :])


def has_heard(program: Program) -> bool:
    """Return whether a bot, which must be running, has heard of something of each kind."""
    assert not program.has_ended, program.complaints
    return all(map(program.of, KINDS))


def has_last(chain: Chain, program: Program) -> bool:
    """Return whether a bot has heard of the block that the last rare note is in, and of that note."""
    receipt = chain.call("eth_getTransactionReceipt", chain.sent[-1])
    if receipt is None or program.of("head")[-1] != int(receipt["blockNumber"], 16):
        return False
    return all(program.of(kind)[-1][0] == receipt["blockHash"] for kind in ("log", "rare"))


@contextmanager
def listening(bots: Bots, libraries: Sequence[str], url: str, chain: Chain) -> Iterator[list[Program]]:
    """Start a bot of each library, and give them once all have heard of everything."""
    with ExitStack() as stack:
        programs = []
        for library in libraries:
            programs.append(bots.start(library, url, chain.emitter))
            stack.callback(programs[-1].end)

        chain.emit_until("all have heard of all", lambda: all(map(has_heard, programs)), rare=True)
        yield programs


class Watched:
    """A bot in a storm."""

    def __init__(self, program: Program, storm: Storm) -> None:
        self.program = program
        self._storm = storm
        self._canonical = {"log": storm.chain.logs(), "rare": storm.chain.logs(rare=True)}
        self._first = {kind: first_block(program.of(kind), logs) for kind, logs in self._canonical.items()}

    def wrong(self) -> str:
        """Return what it has not heard exactly once; empty if nothing."""
        chain = self._storm.chain
        logs = wrong(self.program.of("log"), chain.logs(), self._first["log"])
        rare = wrong(self.program.of("rare"), chain.logs(rare=True), self._first["rare"])
        heads = "" if self.program.of("head")[-1] == chain.height else "its head is old"
        return logs or rare or heads or self._missing_blocks(chain.height)

    def _missing_blocks(self, height: int) -> str:
        # viem reads each block by its number, of which there is none in the midst of a reorganisation.
        blocks = set(self.program.of("block")) - {"undefined"}
        missing = set(range(min(blocks), height + 1)) - blocks if blocks else set()
        return f"missing blocks: {sorted(missing)}" if missing else ""

    def check(self) -> str:
        """Assert that it has everything once it has had the time, and return its figures."""
        with suppress(AssertionError):
            until("it has all", lambda: not self.wrong() or self.program.has_ended)
        assert not self.wrong(), self.program.complaints
        heads = self.program.of("head")
        assert all(head <= before + 1 for before, head in itertools.pairwise(heads)), heads
        assert self.program.of("error") == []
        logs = self.program.of("log")
        removed = sum(place[2] for place in logs)
        return f"{self.program.name}: {len(logs)} logs, {removed} of them removals; {len(heads)} heads"


def is_pending(storm: Storm, begin: int, program: Program) -> bool:
    return any(sent in program.of("pending") for sent in storm.chain.sent[begin:])


def endure(storm: Storm, programs: Sequence[Program], kills: Iterator[float]) -> str:
    """Let a storm rage; return the figures of what all have heard."""
    watched = [Watched(program, storm) for program in programs]
    storm.settle()
    for number, away in enumerate(kills):
        for _ in range(8):
            storm.step()
        if number % 3 == 2:
            for each in watched:
                each.check()
        storm.kill(away=away)
    storm.step()
    storm.chain.emit(rare=True)
    figures = [each.check() for each in watched]
    begin = len(storm.chain.sent)
    for program in programs:
        storm.chain.emit_until("pending ones come again", partial(is_pending, storm, begin, program))
    return "; ".join(
        [f"{storm.kills} kills, {storm.blocks} blocks, {storm.reorganisations} reorganisations", *figures]
    )


@pytest.mark.parametrize(
    ("libraries", "kills"),
    [
        pytest.param(["trio"], [0.0], id="trio"),
        pytest.param(LIBRARIES, [0.0, 0.1], id="all", marks=pytest.mark.slow),
    ],
)
def test_bots_hear_each_log_once_though_the_node_is_killed(
    bots: Bots, tmp_path: Path, libraries: Sequence[str], kills: Sequence[float]
) -> None:
    with (
        raised_storm(tmp_path / "chain") as storm,
        listening(bots, libraries, storm.url, storm.chain) as programs,
    ):
        endure(storm, programs, iter(kills))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2])
def test_bots_hear_each_log_once_through_many_kills(bots: Bots, tmp_path: Path, seed: int) -> None:
    with (
        raised_storm(tmp_path / "chain", seed) as storm,
        listening(bots, LIBRARIES, storm.url, storm.chain) as programs,
    ):
        endure(storm, programs, iter([0.0, 0.3, 0.0, 1.0, 0.1, 0.5, 2.0, 0.0, 0.2]))


@pytest.mark.soak
@pytest.mark.timeout(2 * SOAK_SECONDS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_bot_hears_each_log_once_for_ten_minutes(library: str, bots: Bots, tmp_path: Path) -> None:
    def kills() -> Iterator[float]:
        end = time.monotonic() + SOAK_SECONDS
        for number in itertools.count():
            if time.monotonic() > end:
                return
            yield (0.0, 0.5, 0.1, 2.0, 0.2)[number % 5]

    with (
        raised_storm(tmp_path / "chain", seed=3) as storm,
        listening(bots, [library], storm.url, storm.chain) as programs,
    ):
        print(endure(storm, programs, kills()))


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_bot_hears_that_the_history_is_gone_and_goes_on(library: str, bots: Bots, tmp_path: Path) -> None:
    with (
        raised_storm(tmp_path / "chain") as storm,
        listening(bots, [library], storm.url, storm.chain) as (bot,),
    ):
        storm.replace(tmp_path / "another")
        if library == "web3":
            until("it ends", lambda: bot.has_ended)
            bot.end()
            # Which one it is depends on which chain is higher by then.
            reasons = ("the cursor's block is unknown", "the node is behind: it has no such block yet")
            assert any(f"HistoryGoneError: {reason}" in bot.complaints for reason in reasons)
            return
        until("it hears of it", lambda: bot.of("error"))
        assert set(bot.of("kind")) <= {"HistoryGoneError", "HISTORY_GONE"}
        before = len(bot.of("log"))
        storm.chain.emit_until("logs of the other chain come", lambda: len(bot.of("log")) > before)


@contextmanager
def started_anvil_at(_folder: Path) -> Iterator[Addresses]:
    with started_anvil() as url:
        yield Addresses(url, url.replace("http:", "ws:"))


@contextmanager
def started_geth_at(folder: Path) -> Iterator[Addresses]:
    if GETH is None:
        pytest.skip("no `geth` on the path")
    folder.mkdir()
    options = ("--datadir", str(folder), "--nodiscover", "--ipcdisable", "--port", "0", "--authrpc.port", "0")
    http = ("--http", "--http.port", "0", "--ws", "--ws.port", "0")
    with running((GETH, "--dev", *SPARING, *options, *http), folder / "geth.log") as endpoint:
        yield Addresses(f"http://{endpoint('false')}", f"ws://{endpoint('false')}")


# anvil refuses members that it does not know, geth those of heads alone.
@pytest.mark.parametrize(
    "started_node", [started_anvil_at, pytest.param(started_geth_at, marks=pytest.mark.nightly)]
)
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_bot_goes_on_with_a_node_without_cursors(
    library: str,
    started_node: Callable[[Path], AbstractContextManager[Addresses]],
    bots: Bots,
    tmp_path: Path,
) -> None:
    with started_node(tmp_path / "node") as addresses, Relay(addresses.websocket) as relay:
        chain = Chain(addresses.http)
        with listening(bots, [library], relay.url, chain) as (bot,):
            for _ in range(3):
                connections, heard = relay.connections, len(bot.of("log"))
                relay.cut()
                until("it connects again", partial(has_more, lambda: relay.connections, connections))
                chain.emit_until("logs come again", partial(has_more, lambda: len(bot.of("log")), heard))
            places = [tuple(place) for place in bot.of("log")]
            assert len(set(places)) == len(places)
            assert not bot.of("error")
            refused = [request for request in relay.refused if request["method"] == "eth_subscribe"]
            # In trio each subscription is a client of its own. A log may show what geth is before heads do.
            assert len(refused) <= (3 if library == "trio" else 1), refused


# The bot of ethers asks for heads before logs, and in trio a subscription hears nothing of others.
@pytest.mark.parametrize("library", ["viem", "web3"])
def test_cursors_may_be_refused_after_a_log_came_without_one(
    library: str, bots: Bots, tmp_path: Path
) -> None:
    with started_geth_at(tmp_path / "node") as addresses, Relay(addresses.websocket) as relay:
        relay.delays_refusal = True
        with listening(bots, [library], relay.url, Chain(addresses.http)) as (bot,):
            assert [request["params"][0] for request in relay.refused] == ["newHeads"]
            assert not bot.of("error")


@pytest.mark.parametrize("library", CALLERS)
def test_with_a_node_without_cursors_a_changed_bot_hears_what_a_stock_one_hears(
    library: str, bots: Bots
) -> None:
    with started_anvil() as http_url:
        chain, url = Chain(http_url), http_url.replace("http:", "ws:")
        with listening(bots, [library], url, chain) as (changed,):
            stock = bots.start(library, url, chain.emitter, is_changed=False)
            try:
                chain.emit_until("the stock one has heard of all", partial(has_heard, stock), rare=True)
                both = (stock, changed)
                for _ in range(5):
                    chain.emit(rare=True)
                # anvil has no logs any more of a block that is replaced before it has looked for them.
                until("both have the last rare one", lambda: all(has_last(chain, bot) for bot in both))
                chain.reorganise(2)
                chain.emit()
                until("both have the last", lambda: all(chain.sent[-1] in bot.of("pending") for bot in both))
                for kind in KINDS:
                    until(kind, partial(are_alike, kind, *both))
            finally:
                stock.end()


@pytest.mark.parametrize("library", CALLERS)
def test_calls_are_repeated_if_they_cannot_act_twice(library: str, bots: Bots) -> None:
    with started("dev", "--quiet", "--listen", "127.0.0.1:0") as node, Relay(node.socket_url) as relay:
        chain = Chain(node.http_url)
        sender = chain.call("eth_accounts")[0]
        transaction = {
            "to": "0x" + "11" * 20,
            "value": 1,
            "gas": 21000,
            "gasPrice": 10**10,
            "nonce": 0,
            "chainId": 31337,
        }
        signed = Account.from_key(KEY).sign_transaction(transaction)
        methods = {"eth_getBalance", "eth_sendRawTransaction", "eth_sendTransaction"}
        relay.losing |= methods
        height = chain.height
        raw = "0x" + signed.raw_transaction.hex()
        bot = bots.start(library, relay.url, sender, raw, script="calls")
        try:
            until("all is said", lambda: bot.of("block") or bot.has_ended)
        finally:
            bot.end()
        assert bot.of("balance"), bot.complaints
        assert bot.of("hash") == ["0x" + signed.hash.hex()]
        assert (bot.of("error"), bot.of("sent")) == ([ERRORS[library]], [])
        # Each of both is in one block.
        assert bot.of("block") == [chain.height] == [height + 2]
        times = [sum(request["method"] == method for request in relay.heard) for method in sorted(methods)]
        assert times == [2, 2, 1]


def test_web3_handlers_may_call_while_thousands_of_events_wait(bots: Bots, tmp_path: Path) -> None:
    with (
        raised_storm(tmp_path / "chain") as storm,
        listening(bots, ["web3"], storm.url, storm.chain) as (bot,),
    ):
        watched = Watched(bot, storm)
        for _ in range(1_200):
            storm.chain.emit()
        watched.check()


def test_what_the_clients_have_in_common_is_the_same(bots: Bots) -> None:
    for names in (JAVASCRIPT, ("web3", "trio")):
        texts = [
            (bots.folder / f"resuming_{name}{'.ts' if name in JAVASCRIPT else '.py'}").read_text()
            for name in names
        ]
        first, second = (text.split("From here on all clients' files are the same.")[1] for text in texts)
        assert first == second
