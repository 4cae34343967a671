"""The state after the block to come: what is said of it is what is said once that very block is the head."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from eth_account import Account as Wallet
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.clocks import stopped
from tests.drawing import examples
from tests.ethereum.pool.playground import (
    ALICE,
    BALANCE,
    BOB,
    CAROL,
    CHAIN_ID,
    GWEI,
    MINER,
    SOMEBODY,
    Playground,
    signed,
)
from tests.memory_transport import Ask, asking
from wsnode.demo.accounts import FundedAccount
from wsnode.ethereum.appender import Appender
from wsnode.ethereum.building.pending_block import PendingBlockBuilder
from wsnode.ethereum.codec.blocks import BuiltBlock, decode_blocks, keccak256
from wsnode.ethereum.codec.rlp import encode, number
from wsnode.ethereum.head import HeadChange
from wsnode.ethereum.pool.errors import PoolError
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.work import CancelToken, RunInThread

# The block to come follows one second later, whatever the clock says.
FUTURE = 1 << 33
PEOPLE = (ALICE, BOB, CAROL)
NOBODY = bytes(19) + b"\xab"
RUNTIME = bytes.fromhex(
    # With input it writes a value to a slot; without, it returns three slots and what it sees of the block.
    "36" + "604457"
    "60005460005260015460205260025460405243606052426080526001430340"
    "60a05273" + SOMEBODY.hex() + "3160c05260e06000f3"
    "5b602035600035" + "5500"
)


def deploying(runtime: bytes) -> bytes:
    size = len(runtime)
    return bytes.fromhex(f"60{size:02x}600c60003960{size:02x}6000f3") + runtime


def created(sender: FundedAccount, nonce: int) -> bytes:
    return keccak256(encode([sender.address, number(nonce)]))[12:]


SCRIBBLER = created(ALICE, 0)
# Writes to its slot 0; a call destroys it.
MORTAL = bytes.fromhex("60076000556133ff6000526002601ef3")
# Writes, and is destroyed at once.
FLEETING = bytes.fromhex("600760005533ff")


def word(value: int) -> bytes:
    return value.to_bytes(32, "big")


def hexed(content: bytes) -> str:
    return f"0x{content.hex()}"


class Stage:
    """A chain on which the scribbler stands, and its methods."""

    def __init__(self, folder: Path) -> None:
        self.playground = Playground(folder)
        self.append(self.playground.sign(ALICE, 0, to=None, call=deploying(RUNTIME), gas=300_000, value=0))
        registry = build_registry(
            self.playground.chain, pool=self.playground.pool, with_test_methods=True, timer=stopped
        )
        self.ask = asking(Dispatcher(registry, self.playground.chain.snapshot))

    def append(self, *encoded: bytes) -> None:
        built = self.playground.builder.append(encoded, timestamp=FUTURE, fee_recipient=MINER)
        assert not built.refused
        self.playground.pool.advance(HeadChange((), (built.head,)))

    def add(self, action: tuple[Any, ...]) -> None:
        """Send a transaction, if the pool takes it."""
        name, sender, *rest = action
        nonce = int(self.ask("eth_getTransactionCount", hexed(sender.address), "pending")["result"], 16)
        encoded = (self._delegation if name == "delegate" else self._plain)(sender, nonce, name, rest)
        try:
            self.playground.pool.add(encoded)
        except PoolError as refused:
            assert "delegated" in str(refused) or "authority" in str(refused)  # noqa: PT017

    def _plain(self, sender: FundedAccount, nonce: int, name: str, rest: list[Any]) -> bytes:
        members: dict[str, Any] = {"gas": 250_000, "value": 0}
        if name == "transfer":
            members |= {"to": rest[0], "value": rest[1]}
        elif name == "write":
            members |= {"to": SCRIBBLER, "call": word(rest[0]) + word(rest[1])}
        else:
            members |= {"to": None, "value": 5, "call": MORTAL if name == "deploy" else FLEETING}
        return self.playground.sign(sender, nonce, **members)

    def _delegation(self, sender: FundedAccount, nonce: int, _name: str, _rest: list[Any]) -> bytes:
        names = {"chainId": CHAIN_ID, "address": hexed(SCRIBBLER), "nonce": nonce + 1}
        signature = Wallet.sign_authorization(names, sender.secret)
        return signed(sender, {"nonce": nonce, "gas": 250_000, "authorizationList": [signature]})

    def mine_what_is_to_come(self) -> None:
        """Make the block that `pending` names the head."""
        raw = bytes.fromhex(self.ask("debug_getRawBlock", "pending")["result"][2:])
        chain = self.playground.chain
        blocks, malformed = decode_blocks(chain.spec, [raw])
        assert malformed is None
        appender = Appender(chain)
        assert appender.extend(blocks).error is None
        appender.store(appender.take_pending())
        self.playground.pool.advance(HeadChange((), (appender.head,)))


@contextmanager
def stage() -> Iterator[Stage]:
    with TemporaryDirectory() as folder:
        made = Stage(Path(folder))
        try:
            yield made
        finally:
            made.playground.close()


def everything(ask: Ask, tag: str) -> dict[str, Any]:
    """Return what is said of the state after a block."""
    contracts = [SCRIBBLER, *(created(person, nonce) for person in PEOPLE for nonce in range(4))]
    people = [person.address for person in PEOPLE]
    write = {"from": hexed(BOB.address), "to": hexed(SCRIBBLER), "input": hexed(word(1) + word(9))}
    calls = [
        {"to": hexed(SCRIBBLER)},
        {"from": hexed(CAROL.address), "to": hexed(NOBODY), "value": hex(BALANCE - 10**15)},
        {"from": hexed(NOBODY), "to": hexed(SOMEBODY), "value": "0x3"},
        write,
    ]
    questions: list[tuple[str, list[Any]]] = []
    for address in map(hexed, [*contracts, *people, SOMEBODY, NOBODY]):
        questions += [("eth_getBalance", [address]), ("eth_getCode", [address])]
        questions.append(("eth_getProof", [address, ["0x0", "0x2"]]))
        questions += [("eth_getStorageAt", [address, hex(slot)]) for slot in range(3)]
    questions.append(("eth_getStorageValues", [{hexed(SCRIBBLER): [hexed(word(1)), hexed(word(2))]}]))
    for method in ("eth_call", "eth_estimateGas", "eth_createAccessList"):
        questions += [(method, [call]) for call in calls]
    questions.append(("eth_simulateV1", [{"blockStateCalls": [{"calls": [write, calls[0]]}]}]))
    return {f"{name}{json.dumps(params)}": ask(name, *params, tag) for name, params in questions}


def nonces(ask: Ask, tag: str, waiting: list[tuple[Any, ...]]) -> list[Any]:
    """Return transactions without delegations: the pool counts transactions, and a delegation takes two
    nonces.
    """
    delegating = {action[1] for action in waiting if action[0] == "delegate"}
    senders = [person.address for person in PEOPLE if person not in delegating]
    return [ask("eth_getTransactionCount", hexed(sender), tag) for sender in senders]


people = st.sampled_from(PEOPLE)
actions = st.one_of(
    st.tuples(st.just("transfer"), people, st.sampled_from((NOBODY, SOMEBODY, SCRIBBLER)), st.integers(0, 9)),
    st.tuples(st.just("transfer"), people, st.sampled_from([created(BOB, 0), created(CAROL, 0)]), st.just(1)),
    st.tuples(st.just("write"), people, st.integers(0, 2), st.integers(0, 3)),
    st.tuples(st.sampled_from(("deploy", "fleeting", "delegate")), people),
)


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(before=st.lists(actions, max_size=3), waiting=st.lists(actions, max_size=8))
def test_what_is_said_of_pending_is_what_is_said_of_latest_after_that_block(
    before: list[tuple[Any, ...]], waiting: list[tuple[Any, ...]]
) -> None:
    with stage() as stood:
        for action in before:
            stood.add(action)
        stood.mine_what_is_to_come()
        for action in waiting:
            stood.add(action)
        assert stood.playground.pool.queued == 0
        said = everything(stood.ask, "pending"), nonces(stood.ask, "pending", waiting)
        stood.mine_what_is_to_come()
        assert stood.playground.pool.pending == 0
        assert said == (everything(stood.ask, "latest"), nonces(stood.ask, "latest", waiting))


@pytest.fixture
def stood() -> Iterator[Stage]:
    with stage() as made:
        yield made


def test_every_kind_of_answer_sees_what_waits(stood: Stage) -> None:
    """The property would hold if nothing ever changed."""
    before = everything(stood.ask, "pending")
    for action in (("write", ALICE, 1, 2), ("transfer", BOB, NOBODY, 4), ("deploy", CAROL)):
        stood.add(action)
    after = everything(stood.ask, "pending")
    changed = {
        question.partition("[")[0].partition("{")[0]
        for question in after
        if after[question] != before[question]
    }
    assert changed == {
        *("eth_getBalance", "eth_getCode", "eth_getStorageAt", "eth_getProof"),
        *("eth_getStorageValues", "eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1"),
    }


def test_a_change_of_the_heads_state_is_seen_at_once(stood: Stage) -> None:
    stood.add(("transfer", ALICE, NOBODY, 4))
    assert stood.ask("eth_getBalance", hexed(NOBODY), "pending") == {"result": "0x4"}
    stood.playground.chain.patch(json.dumps({hexed(NOBODY): {"balance": "0x10"}}).encode())
    assert stood.ask("eth_getBalance", hexed(NOBODY), "pending") == {"result": "0x14"}
    assert stood.ask("eth_getBalance", hexed(NOBODY), "latest") == {"result": "0x10"}


def test_a_call_sees_the_block_to_come(stood: Stage) -> None:
    block = stood.ask("eth_getBlockByNumber", "pending", False)["result"]
    seen = bytes.fromhex(stood.ask("eth_call", {"to": hexed(SCRIBBLER)}, "pending")["result"][2:])
    words = [int.from_bytes(seen[start : start + 32], "big") for start in range(0, len(seen), 32)]
    assert words[3:6] == [2, FUTURE + 1, int(block["parentHash"], 16)]


def test_who_asks_while_a_block_is_built_gets_that_one(stood: Stage) -> None:
    pool = stood.playground.pool
    for nonce in range(5):
        pool.add(stood.playground.sign(BOB, nonce, gas=250_000, fee=10 * GWEI))
    pending = PendingBlockBuilder(pool, timer=stopped)
    with stood.playground.chain.snapshot() as view:
        askers = [pending.state_after(view) for _ in range(2)]
        built: list[BuiltBlock] = []
        steps = [next(asker) for asker in askers]
        for step in steps:
            assert isinstance(step, RunInThread), "this much gas does not run beside other calls"
            built.append(step.function(CancelToken()))
        assert built[0] is built[1]
        for asker in askers:
            with pytest.raises(StopIteration) as ended:
                asker.send(built[0])
            assert ended.value.value is built[0]
        with pytest.raises(StopIteration) as ended:
            next(pending.state_after(view))
        assert ended.value.value is built[0], "it is there now"
