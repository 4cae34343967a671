"""Threads that ask for state while another one extends the chain, goes back and patches."""

import json
import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import msgspec
import pytest

from tests.ethereum.counter import CODE, COUNTER, SENDER, counter_chain, sending
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.state import (
    BlockAttributes,
    CancelFlag,
    Message,
    ReorganisedError,
    Simulation,
    State,
    Success,
    create_access_list,
    trace_call,
)

SLOT = bytes(32)
MESSAGE = Message(sender=SENDER, to=COUNTER, input=b"\1")
GAS = 10**6


class Known(msgspec.Struct, eq=False):
    """A block that was there at some time, and what its state held in the contract's slot."""

    number: int
    hash: bytes
    rows: tuple[bytes, bytes]
    values: set[int]

    @property
    def name(self) -> tuple[int, bytes]:
        return self.number, self.hash


class Author:
    """Changes a chain at random, and says beforehand what can be found."""

    def __init__(self, chain: Chain, chance: random.Random) -> None:
        self.chain = chain
        self.chance = chance
        self.builder = BlockBuilder(chain)
        self.branch: list[Known] = []
        self.known: list[Known] = []
        self.salt = 0
        self.extend()

    def step(self) -> None:
        self.chance.choice((self.extend, self.extend, self.patch, self.unwind))()

    def extend(self) -> None:
        value = self.chance.randrange(1, 1000)
        self.salt += 1
        self.builder.append(
            [sending(len(self.branch), value)],
            timestamp=self.builder.tip.timestamp + 12,
            fee_recipient=bytes(20),
            salt=self.salt.to_bytes(4, "big"),
        )
        with self.chain.snapshot() as snapshot:
            header, body = snapshot.header(snapshot.number), snapshot.body(snapshot.number)
        assert header is not None
        assert body is not None
        block = Known(snapshot.number, snapshot.head.hash, (header, body), {value})
        self.branch.append(block)
        self.known.append(block)

    def patch(self) -> None:
        value = self.chance.randrange(1000, 2000)
        self.branch[-1].values.add(value)
        slots = {"0x" + SLOT.hex(): f"0x{value:064x}"}
        self.chain.patch(json.dumps({"0x" + COUNTER.hex(): {"stateDiff": slots}}).encode())

    def unwind(self) -> None:
        number = self.chance.randrange(max(1, len(self.branch) - 4), len(self.branch) + 1)
        self.builder.unwind(number)
        del self.branch[number:]


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    with counter_chain(tmp_path) as chain:
        yield chain


def by_storage(state: State, block: Known) -> int:
    return int.from_bytes(state.storage(COUNTER, SLOT, block.name))


def by_proof(state: State, block: Known) -> int:
    return int.from_bytes(state.proof(COUNTER, [SLOT], block.name)[1][0][0])


def by_call(state: State, block: Known) -> int:
    outcome = state.call(block.rows[0], MESSAGE, gas_cap=GAS)
    assert isinstance(outcome, Success)
    return int.from_bytes(outcome.output)


def by_simulation(state: State, block: Known) -> int:
    simulation = Simulation(
        [(None, None, [MESSAGE])],
        gas_cap=GAS,
        validation=False,
        trace_transfers=False,
        full_transactions=False,
    )
    blocks = json.loads(state.simulate(block.rows[0], simulation))
    return int(blocks[0]["calls"][0]["returnData"], 16)


def by_trace(state: State, block: Known) -> int:
    trace = trace_call(
        state,
        block.rows,
        MESSAGE,
        b'{"tracer":"callTracer"}',
        gas_cap=GAS,
        seconds=60.0,
        size=1 << 20,
        cancel=CancelFlag(),
    )
    assert isinstance(trace, bytes)
    return int(json.loads(trace)["output"], 16)


READINGS: list[Callable[[State, Known], int]] = [by_storage, by_proof, by_call, by_simulation, by_trace]


def look_around(state: State, block: Known) -> None:
    """Ask for what does not depend on the slot, yet must not fail in any other way."""
    assert state.account(COUNTER, block.name) is not None
    assert state.code(COUNTER, block.name).hex() == CODE[2:]
    assert isinstance(state.estimate_gas(block.rows[0], MESSAGE, gas_cap=GAS), int)
    assert isinstance(create_access_list(state, block.rows[0], MESSAGE, gas_cap=GAS), tuple)
    attributes = BlockAttributes(
        timestamp=header_fields(block.rows[0]).timestamp + 12,
        fee_recipient=bytes(20),
        prev_randao=bytes(32),
        gas_limit=30_000_000,
        parent_beacon_block_root=bytes(32),
    )
    built, refused = state.build_block(block.rows, attributes, [sending(block.number, 7)])
    assert (built.parent_hash, refused) == (block.hash, [])


def read(author: Author, seed: int, done: Event) -> tuple[int, list[tuple[Known, ReorganisedError]]]:
    """Return how many answers were right, and the blocks that were gone."""
    chance, state, right, gone = random.Random(seed), author.chain.state, 0, []
    while not done.is_set():
        block = chance.choice(author.known[-12:])
        try:
            value = chance.choice(READINGS)(state, block)
            look_around(state, block)
        except ReorganisedError as error:
            gone.append((block, error))
        else:
            assert value in block.values
            right += 1
    return right, gone


@pytest.mark.parametrize("seed", range(3))
def test_an_answer_is_exact_or_the_block_is_gone(chain: Chain, seed: int) -> None:
    author, done = Author(chain, random.Random(seed)), Event()
    with ThreadPoolExecutor(3) as threads:
        readers = [threads.submit(read, author, seed, done) for seed in range(3)]
        try:
            for _ in range(120):
                author.step()
        finally:
            done.set()
    answers = [reader.result() for reader in readers]
    assert sum(right for right, _ in answers) > 0
    gone = [refusal for _, refusals in answers for refusal in refusals]
    assert gone
    for block, error in gone:
        assert (error.number, error.wanted) == block.name
        assert error.found != block.hash
