"""Does a search for logs cost more when the chain grows and its answer does not?

    python -m bench.log_growth [--blocks 1000,10000]

Builds a chain of each length with ten transactions a block, most of which log up to ten transfers, serves
all, and puts the same questions to each by turns. A rare topic occurs ten times, evenly spread, whatever the
length; the last four questions are the worst there are, of topics that occur all over the chain. For each
question: index rows that were read, CPU of the node, the reply's size, and in the end how long another
client waits meanwhile. 100,000 blocks take three CPU minutes and 1.6 GB to build.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, cast

from bench.lib.contracts import BURST, TRANSFER_TOPIC
from bench.lib.load import Load, request, run_load
from bench.lib.nodes import Node, wait_settled
from bench.lib.peer import Steady, steady_client
from bench.lib.started import StartError, wsnode_serving
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import demo_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.chain_tables import LogCriteria, blocks_of_logs, locate_logs, logs_before
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.logs import index as log_index
from wsnode.ethereum.logs.index import search_logs
from wsnode.ethereum.state import sign_transaction
from wsnode.node.chains import ETHEREUM_FOLDER
from wsnode.store.environment import Reader
from wsnode.store.table import RowCursor, Table

BURSTS = bytes.fromhex("b0" * 20)
ECHO = bytes.fromhex("ec" * 20)
LOG_ITS_INPUT = bytes.fromhex("5f355f5fa100")
"""PUSH0 CALLDATALOAD PUSH0 PUSH0 LOG1 STOP: a log without data, whose topic is the input."""
QUADS = bytes.fromhex("4d" * 20)
ONE, OTHER = (bytes(31) + last for last in (b"\xaa", b"\xbb"))
"""Topics at several positions."""
LOG_TWICE = bytes.fromhex(
    "60aa60aa60aa"  # PUSH1 170, three times: topics 4 to 2
    "5f355f5fa4"  # PUSH0 CALLDATALOAD PUSH0 PUSH0 LOG4: topic 1 is the input
    "60bb60bb60bb60aa"  # PUSH1 187, three times, PUSH1 170
    "5f5fa400"  # PUSH0 PUSH0 LOG4 STOP
)
"""Two logs of four topics, without data: the input and ONE three times; ONE and OTHER three times."""
VARIANTS = [number.to_bytes(32, "big") for number in range(256, 320)]
"""The inputs, by turns."""
RARE_TOPIC = bytes.fromhex("7a" * 32)
RARE_TIMES = 10
TRANSACTIONS = 10
MAX_LOGS = 10
BLOCK_SECONDS = 12
GAS = 100_000
MAX_FEE = 10**11
MAX_RESULTS = 10_000
"""By default, of a search; one that finds more ends with an error, which proposes a range with fewer."""
SHAPE = (8, 4)
SECONDS = 1.0


class Question(NamedTuple):
    """A search over the whole chain, whose results do not change."""

    name: str
    addresses: Sequence[bytes]
    topics: Sequence[Sequence[bytes]]


QUESTIONS = (
    Question("rare topic", (), ((RARE_TOPIC,),)),
    Question("rare topic of a contract", (ECHO,), ((RARE_TOPIC,),)),
    Question("contract that logs seldom", (ECHO,), ()),
    Question("topic that never occurs", (), ((bytes(32),),)),
    Question("busy contract and a topic of another", (BURSTS,), ((RARE_TOPIC,),)),
    Question(
        "busy topic, recipient that never was", (), ((bytes.fromhex(TRANSFER_TOPIC),), (), (b"\x11" * 32,))
    ),
    Question("two busy topics, never in one log", (), ((ONE,), (ONE,))),
    Question("four busy topics, never in one log", (), ((ONE,), (ONE,), (OTHER,), (OTHER,))),
    Question("64 busy topics, never with a fifth", (), (VARIANTS, (OTHER,))),
    Question("more than the limit of results", (BURSTS,), ()),
)


def main() -> int:
    """Build, serve and measure."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=lambda text: list(map(int, text.split(","))), default=[1000, 10_000])
    parser.add_argument(
        "--only", default="", metavar="TEXT,…", help="questions whose names hold one of these"
    )
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    lengths, questions = options.blocks, chosen(options.only)
    with tempfile.TemporaryDirectory(prefix="log-growth-") as temporary, ExitStack() as stack:
        folders = [Path(temporary) / str(blocks) for blocks in lengths]
        for folder, blocks in zip(folders, lengths, strict=True):
            build(folder, blocks)
        rows = [list(rows_read(folder, questions)) for folder in folders]
        nodes = [stack.enter_context(wsnode_serving(folder / "data", folder)) for folder in folders]
        print(f"{'':38} {'blocks':>8} {'rows':>6} {'CPU us':>9} {'p50 ms':>8} {'bytes':>8}")
        for place, question in enumerate(questions):
            loads = by_turns(nodes, question, options.repeats)
            for blocks, counts, load in zip(lengths, rows, loads, strict=True):
                cpu = (load.cpu or 0) * 1000
                figures = f"{counts[place]:6} {cpu:9.1f} {load.p50:8.2f} {load.bytes:8,.0f}"
                print(f"{question.name:38} {blocks:8,} {figures}", flush=True)
        print("another client's calls meanwhile, on the longest chain", flush=True)
        for question in questions:
            print(f"{question.name:38} {beside(nodes[-1], question)}", flush=True)
    return 0


def chosen(only: str) -> list[Question]:
    """Return the questions that were asked for."""
    return [question for question in QUESTIONS if any(text in question.name for text in only.split(","))]


def beside(node: Node, question: Question) -> Steady:
    """Return how long the calls of another client took while one searched."""
    wait_settled(node.process)
    with steady_client(node.url) as steady:
        run_load(node, [asked(question)], SHAPE, SECONDS)
    return steady


def build(folder: Path, blocks: int) -> None:
    """Build a chain in `folder`/data."""
    began = time.monotonic()
    with Chain.open(folder / "data" / ETHEREUM_FOLDER, genesis(), writer=True, durable=False) as chain:
        builder = BlockBuilder(chain)
        start = builder.tip.timestamp
        for number, transactions in enumerate(traffic(chain.spec.chain_id, blocks), start=1):
            built = builder.append(
                transactions, timestamp=start + number * BLOCK_SECONDS, fee_recipient=bytes(20)
            )
            assert not built.refused, built.refused
        chain.sync()
    print(f"{blocks:,} blocks built in {time.monotonic() - began:.1f} s", flush=True)


def genesis() -> bytes:
    """Return the demo's genesis with the contracts that log."""
    content: dict[str, Any] = json.loads(demo_genesis())
    for address, code in ((BURSTS, BURST), (ECHO, LOG_ITS_INPUT), (QUADS, LOG_TWICE)):
        content["alloc"]["0x" + address.hex()] = {"balance": "0x0", "code": "0x" + code.hex()}
    return json.dumps(content).encode()


def traffic(chain_id: int, blocks: int) -> Iterator[list[bytes]]:
    """Yield the transactions of each block."""
    step = blocks // RARE_TIMES
    for number in range(blocks):
        first = number * TRANSACTIONS
        calls = [
            (BURSTS, (1 + (first + place) % MAX_LOGS).to_bytes(32, "big")) for place in range(TRANSACTIONS)
        ]
        calls[0] = (QUADS, VARIANTS[number % len(VARIANTS)])
        if number % step == 0 and number // step < RARE_TIMES:
            calls[-1] = (ECHO, RARE_TOPIC)
        yield [call(chain_id, first + place, *each) for place, each in enumerate(calls)]


def call(chain_id: int, nonce: int, contract: bytes, argument: bytes) -> bytes:
    """Return a signed transaction."""
    return sign_transaction(
        ACCOUNTS[0].secret,
        chain_id=chain_id,
        nonce=nonce,
        to=contract,
        value=0,
        input=argument,
        gas=GAS,
        max_fee=MAX_FEE,
        max_priority_fee=0,
    )


def by_turns(nodes: Sequence[Node], question: Question, repeats: int) -> list[Load]:
    """Return each node's run of least CPU."""
    runs: list[list[Load]] = [[] for _ in nodes]
    for _ in range(repeats):
        for node, loads in zip(nodes, runs, strict=True):
            wait_settled(node.process)
            loads.append(run_load(node, [asked(question)], SHAPE, SECONDS))
    return [min(loads, key=lambda load: load.cpu or 0) for loads in runs]


def asked(question: Question) -> dict[str, Any]:
    """Return the request of a search over the whole chain."""
    wanted: dict[str, Any] = {"fromBlock": "0x0", "toBlock": "latest"}
    if question.addresses:
        wanted["address"] = ["0x" + address.hex() for address in question.addresses]
    wanted["topics"] = [["0x" + topic.hex() for topic in topics] or None for topics in question.topics]
    return request("eth_getLogs", wanted)


def rows_read(folder: Path, questions: Sequence[Question]) -> Iterator[int]:
    """Yield how many rows each question's search moves to."""
    with (
        Chain.open(folder / "data" / ETHEREUM_FOLDER, genesis(), writer=False) as chain,
        chain.snapshot() as view,
    ):
        for question in questions:
            counting = CountingReader(view.reader)
            # The engine seeks the blocks, one move each, and knows no other reader than its own.
            for name in ("locate_logs", "blocks_of_logs", "logs_before"):
                vars(log_index)[name] = getattr(counting, name)
            criteria = LogCriteria(question.addresses, question.topics)
            search = search_logs(cast(Reader, counting), criteria, 0, view.number, limit=MAX_RESULTS)
            for _slice in search:
                pass
            yield counting.moves


class CountingReader:
    """Counts the rows that are got, and those that cursors move to."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self.moves = 0

    def logs_before(self, _reader: Reader, number: int) -> int:
        """Return how many logs the blocks before this one have."""
        self.moves += 1
        return logs_before(self._reader, number)

    def blocks_of_logs(self, _reader: Reader, begin: int, end: int, most: int) -> tuple[list[int], int]:
        """Return the blocks of neighbouring logs."""
        blocks, behind = blocks_of_logs(self._reader, begin, end, most)
        self.moves += len(blocks)
        return blocks, behind

    def locate_logs(
        self, _reader: Reader, base: int, positions: bytes, start: int, most: int
    ) -> tuple[list[tuple[int, Sequence[int]]], int]:
        """Return the blocks of logs."""
        located, place = locate_logs(self._reader, base, positions, start, most)
        self.moves += len(located)
        return located, place

    def cursor(self, table: Table) -> "CountingCursor":
        """Return a cursor that counts here."""
        return CountingCursor(self._reader.cursor(table), self)


class CountingCursor:
    """Counts the rows that a cursor moves to."""

    def __init__(self, cursor: RowCursor, counter: CountingReader) -> None:
        self._cursor = cursor
        self._counter = counter
        self.key, self.value, self.item = cursor.key, cursor.value, cursor.item

    def set_range(self, key: bytes) -> bool:
        """Move to the first row at or after `key`."""
        self._counter.moves += 1
        return self._cursor.set_range(key)

    def next(self) -> bool:
        """Move to the next row."""
        self._counter.moves += 1
        return self._cursor.next()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (ConnectionError, StartError) as error:
        print(error, file=sys.stderr)
        sys.exit(1)
