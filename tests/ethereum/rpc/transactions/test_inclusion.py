"""eth_sendRawTransactionSync: the receipt comes with the block, or an error says that none came."""

from pathlib import Path

import pytest

from tests.clocks import stopped
from tests.ethereum.development import playground as development
from tests.ethereum.pool.playground import ALICE, BOB, Playground
from tests.memory_transport import Ask, Conversation, asking
from tests.reply_schemas import validating
from wsnode.ethereum.chain import LOCAL_CALLER
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.work import Await, CallTask

METHOD = "eth_sendRawTransactionSync"


@pytest.fixture
def dispatcher(playground: Playground) -> Dispatcher:
    hub = Hub(playground.chain)
    hub.on_change.append(playground.pool.advance)
    playground.pool.catch_up = hub.advance
    registry = build_registry(playground.chain, pool=playground.pool, hub=hub, timer=stopped)
    return Dispatcher(registry, playground.chain.snapshot)


@pytest.fixture
def ask(dispatcher: Dispatcher) -> Ask:
    return validating(asking(dispatcher))


def hexed(encoded: bytes) -> str:
    return f"0x{encoded.hex()}"


def test_where_each_transaction_gets_a_block_its_receipt_is_the_reply(tmp_path: Path) -> None:
    with development.playground(tmp_path) as chain:
        signed = chain("eth_signTransaction", {"from": development.CREATOR, "to": development.RECIPIENT})
        receipt = chain(METHOD, signed)
        assert receipt == chain.receipt(receipt["transactionHash"])
        assert (receipt["blockNumber"], receipt["status"]) == ("0x1", "0x1")


def test_the_receipt_comes_with_the_block(playground: Playground, dispatcher: Dispatcher) -> None:
    session = Conversation(dispatcher, LOCAL_CALLER)
    encoded = hexed(playground.sign(ALICE, 0))
    request = f'{{"jsonrpc":"2.0","id":1,"method":"{METHOD}","params":["{encoded}"]}}'
    pending = session.receive(request.encode())
    assert isinstance(pending, CallTask)
    while not isinstance(pending.step, Await):
        assert not pending.resume()
    # Another block comes first, which does not hold it.
    playground.builder.append([], timestamp=1 << 33, fee_recipient=bytes(20))
    assert not pending.resume()
    playground.mine()
    assert pending.resume()
    session.end_turn()
    assert b'"status":"0x1"' in (pending.reply or b"")


def test_a_transaction_that_waits_is_told_to_wait(playground: Playground, ask: Ask) -> None:
    sent = hexed(playground.sign(ALICE, 0))
    error = ask(METHOD, sent, 10)["error"]
    (waiting,) = playground.pool.executable()
    assert error == {
        "code": 4,
        "message": "The transaction was added to the transaction pool but wasn't processed in 10ms",
        "data": hexed(waiting.hash),
    }
    assert ask(METHOD, sent, 10) == {"error": {"code": -32000, "message": "already known"}}


@pytest.mark.parametrize(
    ("timeout", "found"),
    [(-1, "number -1"), (1.5, "number 1.5"), ("0x1", "string"), (1 << 64, "number 18446744073709551616")],
)
def test_the_time_is_a_number(playground: Playground, ask: Ask, timeout: object, found: str) -> None:
    # What geth says.
    message = f"invalid argument 1: json: cannot unmarshal {found} into Go value of type uint64"
    sent = hexed(playground.sign(BOB, 0))
    assert ask(METHOD, sent, timeout) == {"error": {"code": -32602, "message": message}}
    assert playground.pool.executable() == []


def test_a_network_without_a_pool_has_no_such_method(playground: Playground) -> None:
    dispatcher = Dispatcher(build_registry(playground.chain), playground.chain.snapshot)
    error = asking(dispatcher)(METHOD, "0x")["error"]
    assert (error["code"], error["data"]) == (-32601, {"reason": "this network takes no transactions"})
