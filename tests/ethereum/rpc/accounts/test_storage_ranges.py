"""A contract's slots in the order of their hashes, and the accounts that blocks change."""

from typing import Any

import pytest

from tests.memory_transport import Ask, asking
from tests.reply_schemas import validating
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher

BEACON_ROOTS = "0x000f3df6d732807ef1319fb7b8bb8522d0beac02"
REQUESTS = ("0x00000961ef480eb55e80d19ad83579a64c007002", "0x0000bbddc7ce488642fb579f8b00f3a590007251")
"""Contracts that are called at the end of each block."""
HEAD = 54
NOTHING = {"storage": None, "nextKey": None}


@pytest.fixture(scope="module")
def ask(dispatcher: Dispatcher) -> Ask:
    """Return what calls a method, whose result has to fit the document."""
    return validating(asking(dispatcher))


def stored(chain: Chain, number: int, address: str) -> dict[str, dict[str, str]]:
    """Return all slots after a block by their hashes."""
    with chain.snapshot() as view:
        block_hash = view.hash_of(number)
    assert block_hash is not None
    slots = chain.state.slots(bytes.fromhex(address[2:]), number, block_hash)
    return {
        f"0x{keccak256(slot).hex()}": {"key": f"0x{slot.hex()}", "value": f"0x{value.hex()}"}
        for slot, value in slots
    }


def pages(ask: Ask, block: str, index: int, address: str, count: int) -> dict[str, Any]:
    """Return all slots, asked for some at a time."""
    found: dict[str, Any] = {}
    start: str | None = "0x"
    while start is not None:
        page = ask("debug_storageRangeAt", block, index, address, start, count)["result"]
        assert list(page["storage"]) == sorted(page["storage"])
        assert len(page["storage"]) == count or page["nextKey"] is None
        found |= page["storage"]
        start = page["nextKey"]
    return found


@pytest.mark.parametrize("count", [1, 3, 1000])
def test_pages_of_slots_are_all_slots_before_a_transaction(
    ask: Ask, execution_apis_chain: Chain, count: int
) -> None:
    # The system call at the begin of a block writes two slots, one by time and one beside.
    found = pages(ask, "latest", 0, BEACON_ROOTS, count)
    before, after = (stored(execution_apis_chain, number, BEACON_ROOTS) for number in (HEAD - 1, HEAD))
    assert before != after
    assert found == after


@pytest.mark.slow
def test_earlier_transactions_of_the_block_count(ask: Ask, execution_apis_chain: Chain) -> None:
    compared = 0
    for number in range(9, HEAD + 1):
        block = ask("eth_getBlockByNumber", hex(number), True)["result"]
        last = len(block["transactions"]) - 1
        for transaction in block["transactions"][:last]:
            address = (
                transaction["to"]
                or ask("eth_getTransactionReceipt", transaction["hash"])["result"]["contractAddress"]
            )
            traces = ask(
                "debug_traceTransaction", block["transactions"][last]["hash"], {"tracer": "prestateTracer"}
            )
            if address in {*traces["result"], *REQUESTS}:
                continue
            # Nothing touches the account after this transaction, so it has what it has in the end.
            wanted = stored(execution_apis_chain, number, address)
            page = ask("debug_storageRangeAt", block["hash"], last, address, "0x", 1000)["result"]
            assert (page["storage"] or {}) == wanted
            compared += bool(wanted)
    assert compared


def test_the_first_hash_may_be_the_beginning_of_one(ask: Ask) -> None:
    everything = pages(ask, "latest", 0, BEACON_ROOTS, 1000)
    page = ask("debug_storageRangeAt", "latest", 0, BEACON_ROOTS, "0x80", 1000)["result"]
    assert page["storage"] == {key: slot for key, slot in everything.items() if key >= "0x80"}
    beyond = ask("debug_storageRangeAt", "latest", 0, BEACON_ROOTS, "0x" + "ff" * 40, 5)["result"]
    assert beyond == {"storage": {}, "nextKey": None}


@pytest.mark.parametrize("count", [0, -1])
def test_no_slots_wanted_is_where_they_begin(ask: Ask, count: int) -> None:
    page = ask("debug_storageRangeAt", "latest", 0, BEACON_ROOTS, "0x", count)["result"]
    assert page == {"storage": {}, "nextKey": min(pages(ask, "latest", 0, BEACON_ROOTS, 1000))}


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        (["0x0", 0], -32000, "no transaction in genesis"),
        (["0x100", 0], -32000, "block {0x100 <nil> false} not found"),
        (["latest", -1], -32000, "transaction index -1 out of range for block {head}"),
        (["latest", 4], -32000, "transaction index 4 out of range for block {head}"),
        (
            ["latest", "0x1"],
            -32602,
            "invalid argument 1: json: cannot unmarshal string into Go value of type int",
        ),
        (
            ["latest", 0.5],
            -32602,
            "invalid argument 1: json: cannot unmarshal number 0.5 into Go value of type int",
        ),
    ],
)
def test_what_is_no_place_in_a_block_is_refused(ask: Ask, params: list[Any], code: int, words: str) -> None:
    head = ask("eth_getHeaderByNumber", "latest")["result"]["hash"]
    refused = ask("debug_storageRangeAt", *params, BEACON_ROOTS, "0x", 1)["error"]
    assert refused == {"code": code, "message": words.replace("{head}", head)}


def test_an_account_without_storage_has_none(ask: Ask) -> None:
    for block in ("latest", "pending"):
        assert ask("debug_storageRangeAt", block, 0, "0x" + "77" * 20, "0x", 5)["result"] == NOTHING


def test_a_page_is_bounded(execution_apis_chain: Chain) -> None:
    registry = build_registry(execution_apis_chain, limits=CallLimits(storage_range_results=2))
    few = asking(Dispatcher(registry, execution_apis_chain.snapshot))
    page = few("debug_storageRangeAt", "latest", 0, BEACON_ROOTS, "0x", 1 << 40)["result"]
    assert len(page["storage"]) == 2
    assert page["nextKey"]


def test_modified_accounts_are_those_that_differ_in_the_order_of_their_hashes(
    ask: Ask, execution_apis_chain: Chain
) -> None:
    store = execution_apis_chain.state

    def everything(number: int) -> dict[str, Any]:
        block = number, bytes.fromhex(ask("eth_getHeaderByNumber", hex(number))["result"]["hash"][2:])
        return {
            f"0x{address.hex()}": (store.account(address, block), store.slots(address, *block))
            for address in store.addresses(*block)
        }

    for first, last in ((53, 54), (0, 54), (8, 9), (20, 40)):
        before, after = everything(first), everything(last)
        changed = [name for name, account in after.items() if before.get(name) != account]
        wanted = sorted(changed, key=lambda name: keccak256(bytes.fromhex(name[2:])))
        assert ask("debug_getModifiedAccountsByNumber", first, last)["result"] == wanted
        hashes = [ask("eth_getHeaderByNumber", hex(number))["result"]["hash"] for number in (first, last)]
        assert ask("debug_getModifiedAccountsByHash", *hashes)["result"] == wanted
        if last == first + 1:
            assert ask("debug_getModifiedAccountsByNumber", last)["result"] == wanted
            assert ask("debug_getModifiedAccountsByHash", hashes[1])["result"] == wanted


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ([0], "block 0 has no parent"),
        ([54, 54], "start block height (54) must be less than end block height (54)"),
        ([999], "start block 3e7 not found"),
        ([1, 999], "end block 999 not found"),
    ],
)
def test_blocks_that_are_no_range_are_refused(ask: Ask, params: list[int], words: str) -> None:
    assert ask("debug_getModifiedAccountsByNumber", *params)["error"] == {"code": -32000, "message": words}


def test_unknown_hashes_and_hexadecimal_numbers_are_refused(ask: Ask) -> None:
    unknown = "11" * 32
    words = f"start block {unknown} not found"
    assert ask("debug_getModifiedAccountsByHash", f"0x{unknown}")["error"]["message"] == words
    words = "invalid argument 0: json: cannot unmarshal string into Go value of type uint64"
    assert ask("debug_getModifiedAccountsByNumber", "0x36")["error"] == {"code": -32602, "message": words}


def test_an_account_is_what_its_trie_holds(ask: Ask) -> None:
    empty = {
        "nonce": "0x0",
        "balance": "0x0",
        "storageRoot": "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421",
        "codeHash": f"0x{keccak256(b'').hex()}",
    }
    assert ask("eth_getAccount", "0x" + "77" * 20)["result"] == empty
    for block in ("0x20", "latest", "pending"):
        account = ask("eth_getAccount", BEACON_ROOTS, block)["result"]
        proof = ask("eth_getProof", BEACON_ROOTS, [], block)["result"]
        shown = {name: proof[name] for name in ("nonce", "balance", "codeHash")}
        assert account == {**shown, "storageRoot": proof["storageHash"]}


def test_code_is_found_by_its_hash(ask: Ask) -> None:
    code = ask("eth_getCode", BEACON_ROOTS)["result"]
    code_hash = ask("eth_getAccount", BEACON_ROOTS)["result"]["codeHash"]
    assert ask("debug_codeByHash", code_hash)["result"] == code
    assert ask("debug_codeByHash", "0x" + "11" * 32)["result"] == "0x"
