"""Calls that the engine answers by itself, one after another, are answered as by one reply a call."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import stopped
from tests.ethereum.rpc.common.random_calls import NOBODY, STATE_METHODS, hashes_of_transactions, of_state
from tests.memory_transport import Conversation, advance, run, whole
from tests.server.websocket.test_frames import masked
from wsnode.ethereum.chain import LOCAL_CALLER, Chain, LocalCaller
from wsnode.ethereum.codec.rows import transaction_hashes
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.batch import SLICE_BYTES
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.fast_path import VersionedCache
from wsnode.jsonrpc.session_limits import SessionBounds
from wsnode.jsonrpc.work import CallTask
from wsnode.server.websocket.frames import text_frame

ROOM = 1 << 20
FIRST = ("eth_getBalance", [NOBODY, "latest"])
BY_HASH = ("eth_getTransactionByHash", "eth_getTransactionReceipt")
Calls = list[tuple[str, list[Any]]]


def usual_and_unusual_calls(chain: Chain) -> st.SearchStrategy[tuple[str, list[Any]]]:
    of_hash = st.tuples(st.sampled_from(BY_HASH), hashes_of_transactions(chain).map(lambda name: [name]))
    state = [st.tuples(st.just(method), of_state(chain, *places)) for method, places in STATE_METHODS.items()]
    with chain.snapshot() as view:
        last = view.number
        hashes = [f"0x{(view.hash_of(number) or b'').hex()}" for number in range(last + 1)]
    flags: st.SearchStrategy[Any] = st.sampled_from([True, False, True, False, None, "true", 1])
    numbers = st.one_of(
        st.integers(0, last + 2).map(hex), st.sampled_from(["latest", "pending", "safe", "earliest", "0x01"])
    )
    names = st.sampled_from([*hashes, *map(str.upper, hashes), "0x" + "13" * 32])
    blocks = [
        st.tuples(st.just("eth_getBlockByNumber"), st.tuples(numbers, flags).map(list)),
        st.tuples(st.just("eth_getBlockByHash"), st.tuples(names, flags).map(list)),
    ]
    none: list[Any] = []
    others = st.tuples(st.sampled_from(["eth_chainId", "eth_blockNumber"]), st.just(none))
    return st.one_of(of_hash, *state, *blocks, others)


@given(chosen=st.data())
def test_what_the_engine_answers_is_what_each_call_gets(
    execution_apis_chain: Chain, dispatcher: Dispatcher, chosen: st.DataObject
) -> None:
    calls = chosen.draw(st.lists(usual_and_unusual_calls(execution_apis_chain), max_size=8))
    assert_same_answers(dispatcher, calls)


def test_usual_calls_are_answered_together(execution_apis_chain: Chain, dispatcher: Dispatcher) -> None:
    with execution_apis_chain.snapshot() as view:
        name = "0x" + transaction_hashes(view.body(view.number) or b"")[:32].hex()
        head = f"0x{view.head.hash.hex()}"
    calls: Calls = [
        *((method, [name]) for method in BY_HASH),
        *(("eth_getBlockByNumber", [block, full]) for block in ("latest", "0x1") for full in (True, False)),
        ("eth_getBlockByHash", [head, False]),
        ("eth_getStorageAt", [NOBODY, "0x0", "0x3"]),
        *((method, [NOBODY]) for method in ("eth_getCode", "eth_getTransactionCount", "eth_getBalance")),
    ]
    assert assert_same_answers(dispatcher, calls) == len(calls)


def test_what_is_unknown_is_left_to_its_method(dispatcher: Dispatcher) -> None:
    unknown = "0x" + "13" * 32
    calls: Calls = [
        ("eth_getBalance", [NOBODY, "0xffff"]),
        ("eth_getTransactionByHash", [unknown]),
        ("eth_syncing", []),
    ]
    for call in calls:
        assert assert_same_answers(dispatcher, [call]) == 0
    assert assert_same_answers(dispatcher, [("eth_getTransactionReceipt", [unknown])]) == 1


@pytest.mark.parametrize("block", ["latest", "0x1"])
def test_blocks_in_the_services_form_are_left_to_their_method(
    execution_apis_chain: Chain, dispatcher: Dispatcher, block: str
) -> None:
    session = Conversation(
        Dispatcher(
            dispatcher.registry, lambda _: execution_apis_chain.snapshot(LocalCaller(service_form=True))
        ),
        None,
    )
    messages = [message(0, *FIRST), message(1, "eth_getBlockByNumber", [block, False])]
    session.receive(messages[0])
    assert session.answer_on_fast_path(messages, 1, ROOM, ROOM)[1] == 0
    assert b"totalDifficulty" in reply(session, messages[1])


class Counting:
    """Admits every call, and counts them."""

    def __init__(self) -> None:
        self.admitted = 0

    def admit(self, name: str) -> None:
        self.admitted += 1

    def charge(self) -> None: ...

    def check_contracts(self, contracts: Iterable[int] | None) -> None: ...


def test_calls_that_have_to_be_admitted_are_left_to_their_methods(dispatcher: Dispatcher) -> None:
    gate = Counting()
    session = Conversation(dispatcher, LOCAL_CALLER, gate)
    for number in range(3):
        session.receive(message(number, *FIRST))
        assert not session.may_take_fast_path
    session.end_turn()
    assert gate.admitted == 3


class Refusing(Counting):
    """Refuses calls that name a contract."""

    def check_contracts(self, contracts: Iterable[int] | None) -> None:
        raise RpcError(-32005, "refused")


def test_a_contract_that_is_refused_is_not_read_by_the_engine(dispatcher: Dispatcher) -> None:
    session = Conversation(dispatcher, LOCAL_CALLER, Refusing())
    assert b'"result":"0x0"' in reply(session, message(1, *FIRST))
    for method, params in (("eth_getCode", [NOBODY]), ("eth_getStorageAt", [NOBODY, "0x0"])):
        assert b'"message":"refused"' in reply(session, message(1, method, params))


def assert_same_answers(dispatcher: Dispatcher, calls: Calls) -> int:
    """Return how many calls the engine has answered, in bursts behind one for a balance.

    One burst would do, but on a busy machine the time of one may pass before.
    """
    answered = 0
    while answered < len(calls) and (count := assert_same_burst(dispatcher, calls[answered:])):
        answered += count
    return answered


def assert_same_burst(dispatcher: Dispatcher, calls: Calls) -> int:
    """Return how many calls the engine has answered behind one for a balance."""
    messages = [message(number, *call) for number, call in enumerate([FIRST, *calls])]
    session = Conversation(dispatcher, LOCAL_CALLER)
    session.receive(messages[0])
    frames, count = session.answer_on_fast_path(messages, 1, ROOM, ROOM)
    session.end_turn()
    alone = Conversation(dispatcher, LOCAL_CALLER)
    replies = [reply(alone, each) for each in messages[1 : count + 1]]
    assert frames == b"".join(map(text_frame, replies))
    return count


def message(identity: int, method: str, params: list[Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": params}).encode()


def reply(session: Conversation, text: bytes) -> bytes:
    answer = session.receive(text)
    session.end_turn()
    # On a busy machine a batch may take more than one turn.
    reply = run(answer) if isinstance(answer, CallTask) else answer
    assert reply is not None
    return whole(reply)


@pytest.fixture(scope="module")
def sharing(execution_apis_chain: Chain) -> Conversation:
    """A session that has what lasts of its chain."""
    versioned_cache = VersionedCache(execution_apis_chain.store)
    registry = build_registry(execution_apis_chain)
    dispatcher = Dispatcher(registry, execution_apis_chain.snapshot, versioned_cache=versioned_cache)
    session = Conversation(dispatcher, LOCAL_CALLER, shares_results=True)
    for method in ("eth_chainId", "eth_gasPrice"):
        reply(session, message(0, method, []))
    return session


@given(chosen=st.data())
def test_frames_are_answered_by_the_engine_with_what_each_call_gets(
    execution_apis_chain: Chain, dispatcher: Dispatcher, sharing: Conversation, chosen: st.DataObject
) -> None:
    calls = chosen.draw(st.lists(usual_and_unusual_calls(execution_apis_chain), max_size=8))
    messages = [message(number, *call) for number, call in enumerate([FIRST, *calls])]
    reply(sharing, messages[0])
    answered = sharing.answer_frames(b"".join(masked(0x81, each) for each in messages), ROOM, ROOM)
    assert answered is not None
    frames, _size, count = answered
    assert frames == b"".join(
        text_frame(reply(Conversation(dispatcher, LOCAL_CALLER), each)) for each in messages[:count]
    )


def test_frames_are_read_from_the_state_only_after_a_turn_that_was(sharing: Conversation) -> None:
    none: list[Any] = []
    calls = [FIRST, ("eth_chainId", none), FIRST, ("eth_gasPrice", none)]
    frames = [masked(0x81, message(number, *call)) for number, call in enumerate(calls)]
    reply(sharing, message(0, "eth_syncing", none))
    assert sharing.answer_frames(frames[0], ROOM, ROOM) is None
    for _ in range(2):
        reply(sharing, message(0, *FIRST))
        for _ in range(2):
            answered = sharing.answer_frames(b"".join(frames), ROOM, ROOM)
            assert answered is not None
            assert answered[2] == len(calls)
        # What lasts needs no view: none is opened until a call needs one again.
        assert sharing.answer_frames(frames[1], ROOM, ROOM) is not None
        assert sharing.answer_frames(frames[0], ROOM, ROOM) is None


@pytest.mark.parametrize("shares", [True, False])
@given(chosen=st.data())
def test_a_batch_is_answered_as_its_calls_are(
    execution_apis_chain: Chain,
    dispatcher: Dispatcher,
    sharing: Conversation,
    shares: bool,
    chosen: st.DataObject,
) -> None:
    calls = chosen.draw(st.lists(usual_and_unusual_calls(execution_apis_chain), min_size=1, max_size=8))
    messages = [message(number, *call) for number, call in enumerate([FIRST, *calls])]
    session = sharing if shares else Conversation(dispatcher, LOCAL_CALLER)
    answer = reply(session, b"[" + b",".join(messages) + b"]")
    assert (
        answer
        == b"[" + b",".join(reply(Conversation(dispatcher, LOCAL_CALLER), each) for each in messages) + b"]"
    )


def test_a_large_batch_lets_others_run_after_a_megabyte(execution_apis_chain: Chain) -> None:
    registry, view = build_registry(execution_apis_chain), execution_apis_chain.snapshot
    session = Conversation(Dispatcher(registry, view, clock=stopped), LOCAL_CALLER)
    calls = [message(number, "eth_getBlockByNumber", ["latest", True]) for number in range(900)]
    alone = [reply(session, each) for each in calls]
    size = len(alone[-1])
    pending = session.receive(b"[" + b",".join([message(0, *FIRST), *calls]) + b"]")
    assert isinstance(pending, CallTask)
    made = [0, pending.made]
    while not advance(pending):
        made.append(pending.made)
    assert made[-1] > 2 * SLICE_BYTES
    assert all(SLICE_BYTES < end - start <= SLICE_BYTES + size for start, end in pairwise(made))
    assert whole(pending.reply).endswith(b",".join(alone) + b"]")


@pytest.mark.parametrize("room", [0, 100, 1000])
def test_a_batch_that_grows_too_long_is_refused_where_it_does(execution_apis_chain: Chain, room: int) -> None:
    calls = [message(number, *FIRST) for number in range(40)]
    registry, view = build_registry(execution_apis_chain), execution_apis_chain.snapshot

    def answered(batch: Sequence[bytes]) -> list[Any]:
        bounds = SessionBounds(batch_reply_bytes=room)
        session = Conversation(Dispatcher(registry, view, bounds=bounds, clock=stopped), LOCAL_CALLER)
        answers: list[Any] = json.loads(reply(session, b"[" + b",".join(batch) + b"]"))
        return answers

    # With an escape in it no batch is read by the engine.
    slowly = answered([each.replace(b'"id"', b'"\\u0069d"') for each in calls])
    assert answered(calls) == slowly
    size = len(
        reply(Conversation(Dispatcher(registry, execution_apis_chain.snapshot), LOCAL_CALLER), calls[0])
    )
    assert sum("result" in each for each in slowly) <= room // size
