"""A reader that keeps its moment of the chain while the state goes elsewhere."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.counter import COUNTER, SENDER, counter_chain, sending
from tests.memory_transport import Ask, asking
from wsnode.ethereum.appender import Appender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import block_from_rows
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.snapshot import CallerContext, Snapshot
from wsnode.ethereum.state import BlockAttributes, ReorganisedError
from wsnode.jsonrpc.dispatcher import Dispatcher

NOT_FOUND = {"error": {"code": -32000, "message": "header not found"}}
FIRST_SLOT = "0x" + "0" * 64

TARGET = "0x" + COUNTER.hex()
CALL: dict[str, Any] = {"to": TARGET, "input": "0x01"}
QUESTIONS: dict[str, Callable[[str], list[Any]]] = {
    "eth_getBalance": lambda block: [TARGET, block],
    "eth_getTransactionCount": lambda block: ["0x" + SENDER.hex(), block],
    "eth_getCode": lambda block: [TARGET, block],
    "eth_getStorageAt": lambda block: [TARGET, "0x0", block],
    "eth_getStorageValues": lambda block: [{TARGET: [FIRST_SLOT]}, block],
    "eth_getProof": lambda block: [TARGET, ["0x0"], block],
    "eth_call": lambda block: [CALL, block],
    "eth_estimateGas": lambda block: [CALL, block],
    "eth_createAccessList": lambda block: [CALL, block],
    "eth_simulateV1": lambda block: [{"blockStateCalls": [{"calls": [CALL]}]}, block],
    "debug_traceCall": lambda block: [CALL, block],
}


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    """Return three blocks that each send something to a contract."""
    with counter_chain(tmp_path) as chain:
        extend(BlockBuilder(chain), nonces=range(3), value=1)
        yield chain


def extend(builder: BlockBuilder, *, nonces: range, value: int) -> None:
    for nonce in nonces:
        built = builder.append([sending(nonce, value)], timestamp=12 * (nonce + 1), fee_recipient=bytes(20))
        assert not built.refused


class Keeping:
    """Snapshots opened now, one for each question to come."""

    def __init__(self, chain: Chain, count: int) -> None:
        self._kept = [chain.snapshot() for _ in range(count)]
        self.ask: Ask = asking(Dispatcher(build_registry(chain), self._take))

    def _take(self, _caller: CallerContext) -> Snapshot:
        return self._kept.pop()

    def close(self) -> None:
        for snapshot in self._kept:
            snapshot.close()


@pytest.fixture
def kept(chain: Chain) -> Iterator[Keeping]:
    """Return a reader of the three blocks."""
    keeping = Keeping(chain, 200)
    yield keeping
    keeping.close()


def reorganise(chain: Chain) -> None:
    builder = BlockBuilder(chain)
    builder.unwind(1)
    extend(builder, nonces=range(1, 4), value=2)


@pytest.mark.parametrize("method", QUESTIONS)
def test_state_of_a_dropped_block_is_not_that_of_its_successor(
    chain: Chain, kept: Keeping, method: str
) -> None:
    shared = [["0x1"], [hash_of(chain, 1)], ["earliest"]]
    before = [kept.ask(method, *QUESTIONS[method](*block)) for block in shared]
    dropped: list[Any] = ["latest", "0x2", "0x3", hash_of(chain, 2), {"blockHash": hash_of(chain, 3)}]
    reorganise(chain)
    assert [kept.ask(method, *QUESTIONS[method](*block)) for block in shared] == before
    assert all("result" in answer for answer in before)
    for block in dropped:
        assert kept.ask(method, *QUESTIONS[method](block)) == NOT_FOUND


def test_blocks_that_are_gone_are_not_there_before_others_come(chain: Chain, kept: Keeping) -> None:
    chain.unwind(1)
    for method, question in QUESTIONS.items():
        assert kept.ask(method, *question("latest")) == NOT_FOUND
        assert "result" in kept.ask(method, *question("0x1"))


def test_traces_begin_on_the_parent_and_nowhere_else(chain: Chain, kept: Keeping) -> None:
    expected = kept.ask("debug_traceBlockByNumber", "0x2")
    second, third = hash_of(chain, 2), hash_of(chain, 3)
    reorganise(chain)
    # The parent of the second block is still there, that of the third is not.
    assert kept.ask("debug_traceBlockByNumber", "0x2") == expected
    assert kept.ask("debug_traceBlockByHash", second) == expected
    assert kept.ask("debug_traceBlockByHash", third) == NOT_FOUND
    assert kept.ask("debug_traceBlockByNumber", "0x3") == NOT_FOUND


def test_answers_are_exact_while_a_block_is_committed(chain: Chain, kept: Keeping) -> None:
    answers = {method: kept.ask(method, *question("0x3")) for method, question in QUESTIONS.items()}
    appender = Appender(chain)
    attributes = BlockAttributes(
        timestamp=48,
        fee_recipient=bytes(20),
        prev_randao=bytes(32),
        gas_limit=30_000_000,
        parent_beacon_block_root=bytes(32),
    )
    built = chain.state.build_block(appender.tip, attributes, [sending(3, 9)])[0]
    assert appender.extend([block_from_rows(chain.spec, built.header, built.body)]).error is None
    pending = appender.take_pending()
    assert chain.state.committed_head[0] == 3
    for method, question in QUESTIONS.items():
        assert kept.ask(method, *question("latest")) == answers[method]
    appender.store(pending)
    assert (chain.head.number, chain.state.committed_head[0]) == (4, 4)
    for method, question in QUESTIONS.items():
        assert kept.ask(method, *question("latest")) == answers[method]


def test_the_error_says_which_block_took_its_place(chain: Chain) -> None:
    old = chain.head
    chain.unwind(2)
    with pytest.raises(ReorganisedError) as gone:
        chain.state.account(COUNTER, (old.number, old.hash))
    assert (gone.value.number, gone.value.wanted, gone.value.found) == (3, old.hash, None)
    extend(BlockBuilder(chain), nonces=range(2, 3), value=2)
    with pytest.raises(ReorganisedError) as replaced:
        chain.state.storage(COUNTER, bytes(32), (old.number, old.hash))
    assert replaced.value.found == chain.head.hash


def hash_of(chain: Chain, number: int) -> str:
    with chain.snapshot() as snapshot:
        return f"0x{(snapshot.hash_of(number) or b'').hex()}"
