"""ots_… on the chain of the vectors, beside what traces, blocks and receipts say of it."""

from typing import Any, Final

import pytest

from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

pytestmark = pytest.mark.slow

NOBODY: Final = "0x" + "13" * 20
UNKNOWN: Final = "0x" + "11" * 32
PAGE: Final = 4
KINDS: Final = {0: "call", 1: "suicide", 2: "create", 3: "create"}


@pytest.fixture(scope="module")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return what calls a method, whose result has to fit the document."""
    return validating(asking(dispatcher))


@pytest.fixture(scope="module")
def blocks(ask: Ask) -> list[dict[str, Any]]:
    """Return all blocks with their transactions."""
    head = int(ask("eth_blockNumber")["result"], 16)
    return [ask("eth_getBlockByNumber", hex(number), True)["result"] for number in range(head + 1)]


@pytest.fixture(scope="module")
def transactions(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all transactions."""
    return [transaction for block in blocks for transaction in block["transactions"]]


@pytest.fixture(scope="module")
def touched(ask: Ask, blocks: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the transactions that have to do with each account, in the order of the chain."""
    found: dict[str, list[str]] = {}
    for number in range(len(blocks)):
        for trace in ask("trace_block", hex(number))["result"]:
            action, result = trace["action"], trace.get("result") or {}
            names = {action.get(name) for name in ("from", "to", "address", "refundAddress")}
            for name in {*names, result.get("address")} - {None}:
                if trace["transactionHash"] not in [None, *found.setdefault(name, [])[-1:]]:
                    found[name].append(trace["transactionHash"])
    return found


def limited(chain: Chain, **limits: Any) -> Ask:
    registry = build_registry(chain, limits=CallLimits(**limits))
    return asking(Dispatcher(registry, chain.snapshot))


def pages(ask: Ask, address: str, *, is_forward: bool) -> list[list[str]]:
    """Return the pages of a whole search, each in the order in which it came."""
    method = f"ots_searchTransactions{'After' if is_forward else 'Before'}"
    end = "firstPage" if is_forward else "lastPage"
    begin = "lastPage" if is_forward else "firstPage"
    found, block, is_done = [], 0, False
    while not is_done:
        page = ask(method, address, block, PAGE)["result"]
        assert page[begin] is (block == 0)
        is_done = page[end]
        assert page["txs"] or is_done
        assert [transaction["hash"] for transaction in page["txs"]] == [
            receipt["transactionHash"] for receipt in page["receipts"]
        ]
        found.append([transaction["hash"] for transaction in page["txs"]])
        if page["txs"]:
            block = int(page["txs"][0 if is_forward else -1]["blockNumber"], 16)
    return found


def test_searches_find_all_that_has_to_do_with_an_account(ask: Ask, touched: dict[str, list[str]]) -> None:
    assert len(touched) > 20
    for address, expected in list(touched.items())[::3]:
        back = pages(ask, address, is_forward=False)
        assert [name for page in back for name in page] == expected[::-1]
        onwards = pages(ask, address, is_forward=True)
        assert [name for page in onwards[::-1] for name in page] == expected[::-1]
    assert pages(ask, NOBODY, is_forward=False) == [[]]


def test_searches_go_by_what_changed_where_every_block_would_be_too_much(
    execution_apis_chain: Chain, touched: dict[str, list[str]]
) -> None:
    ask = limited(execution_apis_chain, search_transactions=0)
    exact = 0
    for address, expected in touched.items():
        back = [name for page in pages(ask, address, is_forward=False) for name in page]
        onwards = [name for page in pages(ask, address, is_forward=True)[::-1] for name in page]
        assert back == onwards
        assert set(back) <= set(expected)
        exact += back == expected[::-1]
    # The rest have calls that moved no ether to or from the account, and in which it logged nothing.
    assert exact > 0.8 * len(touched)


def test_a_search_has_its_limits(execution_apis_chain: Chain, ask: Ask) -> None:
    error = ask("ots_searchTransactionsBefore", NOBODY, 0, 26)["error"]
    assert error == {"code": -32602, "message": "max allowed page size: 25", "data": {"limit": 25}}
    late = limited(execution_apis_chain, search_seconds=1e-9)
    for method in ("ots_searchTransactionsBefore", "ots_searchTransactionsAfter"):
        error = late(method, NOBODY, 0, 25)["error"]
        assert (error["code"], error["message"]) == (-32005, "search timeout exceeded")
    small = limited(execution_apis_chain, trace_bytes=1000)
    sender = ask("eth_getBlockByNumber", "0x1", True)["result"]["transactions"][0]["from"]
    assert small("ots_searchTransactionsAfter", sender, 0, 25)["error"]["code"] == -32003


def test_a_sender_and_a_nonce_name_a_transaction(ask: Ask, transactions: list[dict[str, Any]]) -> None:
    for transaction in transactions:
        sender, nonce = transaction["from"], int(transaction["nonce"], 16)
        assert ask("ots_getTransactionBySenderAndNonce", sender, nonce)["result"] == transaction["hash"]
        assert ask("eth_getTransactionBySenderAndNonce", sender, hex(nonce))["result"] == transaction
    last = transactions[-1]["from"]
    nonce = ask("eth_getTransactionCount", last, "latest")["result"]
    assert ask("ots_getTransactionBySenderAndNonce", last, nonce)["result"] is None
    assert ask("ots_getTransactionBySenderAndNonce", NOBODY, 0)["result"] is None
    assert ask("eth_getTransactionBySenderAndNonce", NOBODY, 0)["result"] is None


def test_contracts_know_who_created_them(ask: Ask, blocks: list[dict[str, Any]]) -> None:
    created = 0
    for number in range(len(blocks)):
        for trace in ask("trace_block", hex(number))["result"]:
            if trace["type"] != "create" or trace["result"] is None or "error" in trace:
                continue
            address = trace["result"]["address"]
            if ask("eth_getCode", address, "latest")["result"] == "0x":
                assert ask("ots_getContractCreator", address)["result"] is None
                continue
            created += 1
            expected = {"hash": trace["transactionHash"], "creator": trace["action"]["from"]}
            assert ask("ots_getContractCreator", address)["result"] == expected
    assert created > 3
    assert ask("ots_getContractCreator", NOBODY)["result"] is None


def test_code_is_there_or_not(ask: Ask, touched: dict[str, list[str]]) -> None:
    for address in touched:
        for block in ("latest", "0x1", 5):
            known = ask("eth_getCode", address, hex(block) if isinstance(block, int) else block)["result"]
            assert ask("ots_hasCode", address, block)["result"] is (known != "0x")
    assert ask("ots_hasCode", NOBODY)["result"] is False
    assert ask("ots_hasCode", NOBODY, 99_999)["error"]["message"] == "header not found"


def test_blocks_have_their_fees_and_not_their_transactions(ask: Ask, blocks: list[dict[str, Any]]) -> None:
    for number, block in enumerate(blocks):
        details = ask("ots_getBlockDetails", number)["result"]
        assert details == ask("ots_getBlockDetailsByHash", block["hash"])["result"]
        shown = details["block"]
        assert shown.pop("transactionCount") == len(block["transactions"])
        plain = {name: value for name, value in block.items() if name != "transactions"}
        assert shown == {**plain, "logsBloom": None}
        receipts = ask("eth_getBlockReceipts", hex(number))["result"]
        fees = sum(int(one["gasUsed"], 16) * int(one["effectiveGasPrice"], 16) for one in receipts)
        assert int(details["totalFees"], 16) == fees
        rewards = [one for one in ask("trace_block", hex(number))["result"] if one["type"] == "reward"]
        paid = sum(int(reward["action"]["value"], 16) for reward in rewards)
        assert int(details["issuance"]["issuance"], 16) == paid
        assert ask("erigon_getHeaderByNumber", number)["result"]["hash"] == block["hash"]
    for method, parameter in (
        ("ots_getBlockDetails", 99_999),
        ("ots_getBlockDetailsByHash", UNKNOWN),
        ("erigon_getHeaderByNumber", "0xffff"),
    ):
        assert ask(method, parameter)["result"] is None
    assert ask("ots_getBlockTransactions", 99_999, 0, 5)["result"] is None


def test_a_blocks_transactions_come_in_pages_from_its_end(ask: Ask, blocks: list[dict[str, Any]]) -> None:
    for number, block in list(enumerate(blocks))[::4]:
        shown: list[dict[str, Any]] = []
        receipts: list[dict[str, Any]] = []
        for page in range(len(block["transactions"]) // 3 + 1):
            result = ask("ots_getBlockTransactions", number, page, 3)["result"]
            assert result["fullblock"]["transactionCount"] == len(block["transactions"])
            shown = result["fullblock"]["transactions"] + shown
            receipts = result["receipts"] + receipts
        assert shown == [{**one, "input": one["input"][:10]} for one in block["transactions"]]
        timestamp = int(block["timestamp"], 16)
        short = {"logs": None, "logsBloom": None, "timestamp": timestamp}
        plain = ask("eth_getBlockReceipts", hex(number))["result"]
        assert receipts == [{**receipt, **short} for receipt in plain]
        assert ask("ots_getBlockTransactions", number, 1000, 3)["result"]["receipts"] == []


def test_what_a_transaction_reverted_with_is_told(ask: Ask, transactions: list[dict[str, Any]]) -> None:
    for transaction in transactions:
        error = ask("ots_getTransactionError", transaction["hash"])["result"]
        outer = ask("trace_transaction", transaction["hash"])["result"][0]
        assert error == (outer["result"]["output"] if outer.get("error") == "Reverted" else "0x")
    for method in ("ots_getTransactionError", "ots_traceTransaction", "ots_getInternalOperations"):
        assert ask(method, UNKNOWN)["error"] == {"code": -32000, "message": "transaction not found"}


def test_calls_are_shown_with_their_depths_and_ether(ask: Ask, transactions: list[dict[str, Any]]) -> None:
    for transaction in transactions:
        traces = ask("trace_transaction", transaction["hash"])["result"]
        entries = ask("ots_traceTransaction", transaction["hash"])["result"]
        assert [entry["depth"] for entry in entries] == [len(trace["traceAddress"]) for trace in traces]
        for entry, trace in zip(entries, traces, strict=True):
            action = trace["action"]
            assert entry["from"] == action.get("from", action.get("address"))
            assert entry["input"] == action.get("input", action.get("init", "0x"))
            has_value = entry["type"] not in ("DELEGATECALL", "STATICCALL")
            assert entry["value"] == (action.get("value", action.get("balance")) if has_value else None)
        inside = ask("ots_getInternalOperations", transaction["hash"])["result"]
        moving = [trace for trace in traces[1:] if moves(trace)]
        assert [KINDS[operation["type"]] for operation in inside] == [trace["type"] for trace in moving]


def moves(trace: dict[str, Any]) -> bool:
    """Tell whether a call inside a transaction moves ether of its own, creates or destroys."""
    action = trace["action"]
    return trace["type"] != "call" or (action["callType"], action["value"] != "0x0") == ("call", True)


def test_the_level_of_the_methods_is_what_otterscan_asks_for(ask: Ask) -> None:
    assert ask("ots_getApiLevel")["result"] == 8
    modules = ask("rpc_modules")["result"]
    assert {"ots", "trace", "erigon"} <= set(modules)
