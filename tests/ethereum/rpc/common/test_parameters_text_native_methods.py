"""Calls that the engine answers by itself, one after another, are answered as by one reply a call."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.clocks import stopped
from tests.ethereum.counter import COUNTER, counter_chain
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

pytestmark = pytest.mark.slow

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
    versioned_cache = VersionedCache(execution_apis_chain)
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


def answered_frames(session: Conversation, *calls: tuple[str, list[Any]]) -> list[bytes]:
    """Return the engine's replies to the first of the calls, each as a text."""
    data = b"".join(masked(0x81, message(number, *call)) for number, call in enumerate(calls))
    answered = session.answer_frames(data, ROOM, ROOM)
    if answered is None:
        return []
    replies, size, count = answered
    assert data[:size] == b"".join(
        masked(0x81, message(number, *call)) for number, call in enumerate(calls[:count])
    )
    texts = list[bytes]()
    while replies:
        length, head = replies[1], 2
        if length == 126:
            length, head = int.from_bytes(replies[2:4]), 4
        texts.append(replies[head : head + length])
        replies = replies[head + length :]
    assert len(texts) == count
    return texts


def sharing_session(chain: Chain, caller: Any = LOCAL_CALLER) -> Conversation:
    dispatcher = Dispatcher(build_registry(chain), chain.snapshot, versioned_cache=VersionedCache(chain))
    return Conversation(dispatcher, caller, shares_results=True)


def test_the_state_is_read_in_each_version_of_which_a_view_was_opened(tmp_path: Path) -> None:
    with counter_chain(tmp_path) as chain:
        session, first = sharing_session(chain), ("eth_getBalance", [f"0x{COUNTER.hex()}", "latest"])
        for balance in (b"0x0", b"0x5", b"0x6"):
            assert answered_frames(session, first) == []
            expected = reply(session, message(0, *first))
            assert balance in expected
            assert answered_frames(session, first) == [expected]
            after = hex(5 if balance == b"0x0" else 6)
            changed = {f"0x{COUNTER.hex()}": {"balance": after}}
            chain.patch(json.dumps(changed).encode())


def test_each_session_gets_its_form_of_blocks(tmp_path: Path) -> None:
    with counter_chain(tmp_path) as chain:
        plain = sharing_session(chain)
        service = Conversation(plain.dispatcher, LocalCaller(service_form=True), shares_results=True)
        block = ("eth_getBlockByNumber", ["latest", False])
        reply(service, message(0, "eth_blockNumber", []))
        assert answered_frames(service, FIRST, block) == [reply(service, message(0, *FIRST))]
        assert answered_frames(plain, FIRST, block)[1] == reply(plain, message(1, *block))


def test_runs_that_do_not_succeed_are_left_more_and_more(tmp_path: Path) -> None:
    with counter_chain(tmp_path) as chain:
        session = sharing_session(chain)
        reply(session, message(0, *FIRST))
        halting = ("eth_call", [{"to": "0x" + "00" * 19 + "08", "input": "0x01"}, "latest"])
        fine = ("eth_call", [{"to": f"0x{COUNTER.hex()}", "input": "0x01"}, "latest"])
        # A burst may end after a millisecond, and what follows is for the next.
        assert answered_frames(session, fine, fine)
        for pause in (1, 3, 7):
            assert answered_frames(session, halting) == []
            for _ in range(pause):
                assert answered_frames(session, fine) == []
                assert len(answered_frames(session, FIRST)) == 1
        assert answered_frames(session, fine) == [reply(session, message(0, *fine))]
        assert answered_frames(session, fine, fine)


def test_a_session_of_a_folder_without_states_is_left_to_handlers(tmp_path: Path) -> None:
    with counter_chain(tmp_path) as chain:
        session = sharing_session(chain)
        reply(session, message(0, *FIRST))
        assert answered_frames(session, FIRST)
        state = chain.state
        del chain.state
        assert answered_frames(session, FIRST) == []
        chain.state = state


def test_bodies_are_answered_as_by_handlers(tmp_path: Path) -> None:
    with counter_chain(tmp_path) as chain:
        session = sharing_session(chain)
        path = session.dispatcher.fast_paths.open(session, are_frames=False)
        assert path is not None
        with chain.snapshot() as view:
            moment = view.moment
        constant = ("web3_clientVersion", list[Any]())
        for call in (constant, ("eth_blockNumber", []), FIRST, ("eth_call", [{"to": NOBODY}, "latest"])):
            body = message(7, *call)
            expected = reply(session, body)
            answered = path.try_answer(body, ROOM, ROOM)
            assert answered is not None
            is_constant = call == constant
            assert answered == (expected, len(body), {call[0]: 1}, None if is_constant else moment)
            assert path.try_answer(body, len(expected) - 1, ROOM) is None
        for other in (b"", b"[]", b"[%b]" % body, body[:-1], body + body, masked(0x81, body)):
            assert path.try_answer(other, ROOM, ROOM) is None


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
