"""A partner's answer is worth what its signature proves, and is asked for only when it must be."""

import json
from typing import Any

import msgspec
import pytest

from tests.memory_transport import Ask, Conversation, asking, run, whole
from tests.reply_schemas import validating
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.ethereum.rpc.transactions.partner_fallback import StaleHeadDetector, add_forwarding
from wsnode.ethereum.rpc.transactions.partner_transaction import PartnerAnswerError, checked_transaction
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.resource_quota import ClientId
from wsnode.jsonrpc.work import CallTask
from wsnode.store.environment import StoreError
from wsnode.upstream.errors import UpstreamError

METHOD = "eth_getTransactionByHash"
MISSING = "0x" + "13" * 32
Transactions = list[dict[str, Any]]


@pytest.fixture(scope="session")
def transactions(ask: Ask) -> Transactions:
    """Return every transaction of the chain."""
    head = int(ask("eth_blockNumber")["result"], 16)
    blocks = [ask("eth_getBlockByNumber", hex(number), True)["result"] for number in range(head + 1)]
    return [transaction for block in blocks for transaction in block["transactions"]]


def checked(chain: Chain, answer: Any, wanted: str | None = None) -> dict[str, Any]:
    text = checked_transaction(chain.spec, bytes.fromhex((wanted or answer["hash"])[2:]), answer)
    result: dict[str, Any] = json.loads(text)
    return result


def test_an_honest_answer_is_told_as_this_node_would(
    execution_apis_chain: Chain, transactions: Transactions
) -> None:
    assert {transaction["type"] for transaction in transactions} == {"0x0", "0x1", "0x2", "0x3", "0x4"}
    for transaction in transactions:
        assert checked(execution_apis_chain, transaction) == transaction
        assert checked(execution_apis_chain, transaction | {"l1Fee": "0x1"}) == transaction


def test_a_pending_transaction_has_no_place(execution_apis_chain: Chain, transactions: Transactions) -> None:
    nowhere = dict.fromkeys(("blockHash", "blockNumber", "transactionIndex", "blockTimestamp"))
    for transaction in transactions[::25]:
        assert checked(execution_apis_chain, transaction | nowhere) == transaction | nowhere


SIGNED = ("nonce", "gas", "value", "r", "s", "from", "hash", "to", "input")


@pytest.mark.parametrize("member", SIGNED)
def test_a_lie_about_what_is_signed_is_noticed(
    member: str, execution_apis_chain: Chain, transactions: Transactions
) -> None:
    seen = set[str]()
    for transaction in transactions:
        if transaction["type"] in seen or transaction[member] is None:
            continue
        seen.add(transaction["type"])
        text = transaction[member]
        lie = "0x12" if member == "input" else text[:-1] + ("1" if text[-1] != "1" else "2")
        with pytest.raises(PartnerAnswerError):
            checked(execution_apis_chain, transaction | {member: lie}, transaction["hash"])
    assert len(seen) >= 4


def test_another_transaction_is_not_the_answer(
    execution_apis_chain: Chain, transactions: Transactions
) -> None:
    with pytest.raises(PartnerAnswerError, match="the fields are those of"):
        checked(execution_apis_chain, transactions[0], transactions[1]["hash"])


@pytest.mark.parametrize(
    "change",
    [
        {"type": "0x7e"},
        {"type": 2},
        {"nonce": "-0x1"},
        {"nonce": "0x" + "f" * 65},
        {"input": "0x1"},
        {"from": "0x12\n"},
        {"blockHash": None},
        {"gasPrice": "0xffffffffffffffff"},
        {"accessList": [{"address": "0x"}]},
        {"authorizationList": {}},
    ],
)
def test_a_wrong_shape_is_noticed(
    change: dict[str, Any], execution_apis_chain: Chain, transactions: Transactions
) -> None:
    transaction = next(each for each in transactions if each["type"] == "0x2")
    with pytest.raises(PartnerAnswerError):
        checked(execution_apis_chain, transaction | change)


@pytest.mark.parametrize("answer", [[], "0x", 1, True, {}])
def test_no_transaction_is_noticed(answer: Any, execution_apis_chain: Chain) -> None:
    with pytest.raises(PartnerAnswerError):
        checked(execution_apis_chain, answer, MISSING)


class Key(msgspec.Struct, frozen=True):
    """The caller."""

    forwarding: bool = True
    service_form: bool = False
    key_name: str | None = None
    client: ClientId | None = None


class Fake:
    """A partner that gives one answer, and counts."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def ask(self, method: str, params: list[Any]) -> Any:
        self.asked.append(params[0])
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def forwarding(
    chain: Chain, partner: Fake, *, stale: bool = True, key: Key | None = None
) -> tuple[Ask, dict[str, int]]:
    registry = build_registry(chain)
    outage = StaleHeadDetector(60, lambda: False, clock=lambda: 1e12 if stale else 0)
    add_forwarding(registry, chain.spec, partner.ask, outage, lambda caller: caller.forwarding)
    dispatcher = Dispatcher(registry, chain.snapshot)
    return validating(asking(dispatcher, caller=key or Key())), registry.forwarded


def test_a_missing_transaction_is_asked_of_the_partner(execution_apis_chain: Chain) -> None:
    partner = Fake(None)
    ask, ends = forwarding(execution_apis_chain, partner)
    assert ask(METHOD, MISSING) == {"result": None}
    assert (partner.asked, ends) == ([MISSING], {"unknown": 1})


def test_a_transaction_that_is_here_is_not(execution_apis_chain: Chain, transactions: Transactions) -> None:
    partner = Fake(None)
    ask, _ends = forwarding(execution_apis_chain, partner)
    assert ask(METHOD, transactions[0]["hash"]) == {"result": transactions[0]}
    assert partner.asked == []


@pytest.mark.parametrize(("stale", "allowed"), [(False, True), (True, False), (False, False)])
def test_without_an_outage_or_without_the_right_nobody_is_asked(
    stale: bool, allowed: bool, execution_apis_chain: Chain
) -> None:
    partner = Fake(None)
    ask, _ends = forwarding(execution_apis_chain, partner, stale=stale, key=Key(forwarding=allowed))
    assert ask(METHOD, MISSING) == {"result": None}
    assert partner.asked == []


@pytest.mark.parametrize(
    ("answer", "reason"), [(UpstreamError("timeout"), "timeout"), ({"hash": MISSING}, "invalid")]
)
def test_a_partner_that_fails_is_a_typed_error(answer: Any, reason: str, execution_apis_chain: Chain) -> None:
    ask, ends = forwarding(execution_apis_chain, Fake(answer))
    assert ask(METHOD, MISSING)["error"] == {
        "code": -32002,
        "message": f"the partner provider failed: {reason}",
        "data": {"reason": reason, "forwarded": True},
    }
    assert ends == {"failed": 1}


def test_a_store_that_fails_is_an_outage(execution_apis_chain: Chain, transactions: Transactions) -> None:
    def broken(_caller: Any) -> Any:
        raise StoreError("the disk is gone")

    registry = build_registry(execution_apis_chain)
    partner = Fake(transactions[0])
    outage = StaleHeadDetector(60, lambda: False)
    add_forwarding(registry, execution_apis_chain.spec, partner.ask, outage, lambda caller: caller.forwarding)
    dispatcher, wanted = Dispatcher(registry, broken), transactions[0]["hash"]
    assert asking(dispatcher, caller=Key())(METHOD, wanted) == {"result": transactions[0]}
    assert asking(dispatcher, caller=Key(forwarding=False))(METHOD, wanted)["error"]["code"] == -32603
    assert asking(dispatcher, caller=Key())("eth_blockNumber")["error"]["code"] == -32603


def test_the_calls_of_a_burst_reach_the_partner(execution_apis_chain: Chain) -> None:
    registry, partner = build_registry(execution_apis_chain), Fake(None)
    outage = StaleHeadDetector(60, lambda: True)
    add_forwarding(registry, execution_apis_chain.spec, partner.ask, outage, lambda caller: caller.forwarding)
    session = Conversation(Dispatcher(registry, execution_apis_chain.snapshot), Key())
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": [MISSING]}).encode()
    answers = [session.receive(text) for text in (call, b"[%b,%b,%b]" % (call, call, call))]
    replies = [whole(run(answer) if isinstance(answer, CallTask) else answer) for answer in answers]
    assert b"".join(replies).count(b'"result":null') == 4
    assert partner.asked == [MISSING] * 4
