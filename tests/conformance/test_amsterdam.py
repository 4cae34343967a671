"""A chain of go-ethereum's across the Amsterdam fork: imported, and asked every case."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import pytest
import trio

from tests.conftest import dispatcher_over, encoded_blocks
from tests.memory_transport import Client, asking, memory_transport
from tests.node_process import conversation, post, started
from tests.node_process import import_chain as import_files_of
from tests.vector_files import find_vectors, require_vectors
from wsnode.ethereum.appender import Appender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import decode_blocks, keccak256
from wsnode.ethereum.codec.rlp import content, encode, encoded_items, number
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.sync.importer import import_files
from wsnode.sync.progress import NullProgress
from wsnode.verify.cases import Case, Exchange, read_cases
from wsnode.verify.comparison import reply_difference

FOLDER = find_vectors("amsterdam/tests")
CASES = read_cases(FOLDER) if FOLDER else []


class ListOfBlock(msgspec.Struct):
    """What `lists.json.gz` has of a block."""

    number: int
    hash: str
    list: str | None = None


def import_chain(folder: Path, name: str) -> Chain:
    """Return a new chain with the blocks of a file."""
    vectors = require_vectors("amsterdam")
    chain = Chain.open(folder, (vectors / "genesis.json").read_bytes(), writer=True, durable=False)
    trio.run(import_files, chain, [str(vectors / name)], NullProgress())
    return chain


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    with import_chain(tmp_path_factory.mktemp("amsterdam"), "chain.rlp.gz") as chain:
        yield chain


@pytest.fixture(scope="module")
def over_chain(chain: Chain) -> Dispatcher:
    return dispatcher_over(chain)


@pytest.fixture(scope="module")
def head() -> str:
    meta = json.loads((require_vectors("amsterdam") / "meta.json").read_bytes())
    head: str = meta["head"]["hash"] if isinstance(meta["head"], dict) else meta["head"]
    return head


def lists() -> list[ListOfBlock]:
    text = gzip.decompress((require_vectors("amsterdam") / "lists.json.gz").read_bytes())
    return msgspec.json.decode(text, type=list[ListOfBlock])


def test_every_block_is_executed_and_its_list_is_the_one_that_others_built(chain: Chain, head: str) -> None:
    with chain.snapshot() as view:
        assert f"0x{view.head.hash.hex()}" == head
        for block in lists():
            built = view.access_list(bytes.fromhex(block.hash[2:]))
            assert (None if built is None else f"0x{built.hex()}") == block.list


def test_blocks_with_their_lists_as_fifth_members_lead_to_the_same_head(tmp_path: Path, head: str) -> None:
    with import_chain(tmp_path, "chain-lists.rlp.gz") as chain, chain.snapshot() as view:
        assert f"0x{view.head.hash.hex()}" == head


@pytest.mark.slow
@pytest.mark.skipif(not CASES, reason="no vectors `amsterdam/tests`")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_case_is_answered_as_expected(case: Case, over_chain: Dispatcher) -> None:
    transport = memory_transport(over_chain, Client())
    for exchange in case.exchanges:
        assert difference_of(case, exchange, transport(exchange.request)) is None


@pytest.mark.slow
@pytest.mark.skipif(not CASES, reason="no vectors `amsterdam/tests`")
def test_every_case_is_answered_so_over_http_and_over_websocket(tmp_path: Path) -> None:
    vectors = require_vectors("amsterdam")
    imported = import_files_of(tmp_path, vectors / "genesis.json", [vectors / "chain.rlp.gz"])
    assert imported.returncode == 0, imported.stderr
    with (
        started("serve", "--data", str(tmp_path), "--listen", "127.0.0.1:0", "--open") as node,
        conversation(node.bare(node.socket_url)) as socket,
    ):
        for transport in (partial(post, node.bare(node.http_url)), socket):
            wrong = {
                case.name: difference
                for case in CASES
                for exchange in case.exchanges
                if (difference := difference_of(case, exchange, transport(exchange.request)))
            }
            assert wrong == {}


def difference_of(case: Case, exchange: Exchange, reply: str | None) -> str | None:
    """Return how a reply differs from the one of a case, messages apart, None where it does not."""
    return reply_difference(
        exchange.request, reply, exchange.reply, shape_only=case.shape_only, messages=False
    )


def test_a_list_at_its_bound_is_taken_and_one_above_it_is_refused(tmp_path: Path) -> None:
    vectors = require_vectors("amsterdam") / "limit"
    genesis = (vectors / "genesis.json").read_bytes()
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        trio.run(import_files, chain, [str(vectors / "chain.rlp.gz")], NullProgress())
        with chain.snapshot() as view:
            assert view.number == 2
        over = list(encoded_blocks(gzip.decompress((vectors / "over.rlp.gz").read_bytes())))
        assert refusal(Appender(chain), over[-1]) == "block_access_list_size"


def refusal(appender: Appender, block: bytes) -> str | None:
    """Return the rule that a block after the head breaks, None where it keeps all."""
    blocks, malformed = decode_blocks(appender.chain.spec, [block])
    if malformed is not None:
        return str(malformed.rule)
    error = appender.extend(blocks).error
    return None if error is None else str(error.rule)


def test_the_list_of_a_block_is_served_by_number_tag_and_hash(over_chain: Dispatcher) -> None:
    ask = asking(over_chain)
    last = lists()[-1]
    for named in (hex(last.number), "latest", last.hash, {"blockHash": last.hash}):
        raw = ask("debug_getRawBlockAccessList", named)["result"]
        assert (
            keccak256(bytes.fromhex(raw[2:])).hex()
            == (ask("eth_getBlockByHash", last.hash, False)["result"]["blockAccessListHash"][2:])
        )
        assert ask("eth_getBlockAccessList", named)["result"][0]["address"].startswith("0x")


Members = list[bytes]
"""Members of a header, each with its own RLP head."""
GAS_USED, REQUESTS_HASH, LIST_HASH, SLOT = 10, 20, 21, 22


def with_header(block: bytes, change: Callable[[Members], Members]) -> bytes:
    """Return a block with other members of its header."""
    header, *rest = encoded_items(block)
    return as_list([as_list(change(encoded_items(header))), *rest])


def as_list(items: Iterable[bytes]) -> bytes:
    """Return an RLP list of items that are encoded already."""
    payload = b"".join(items)
    if len(payload) < 56:
        return bytes([0xC0 + len(payload)]) + payload
    size = number(len(payload))
    return bytes([0xF7 + len(size)]) + size + payload


def replaced(index: int, value: bytes) -> Callable[[Members], Members]:
    """Return a change of one member to `value`."""
    return lambda members: [*members[:index], encode(value), *members[index + 1 :]]


def other_lists(encoded: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield lists that are not the block's: accounts missing, twice, in another order, changed, and more."""
    accounts = encoded_items(encoded)
    yield "first account missing", as_list(accounts[1:])
    yield "last account missing", as_list(accounts[:-1])
    yield "account twice", as_list([accounts[0], *accounts])
    yield "other order", as_list([*accounts[1:], accounts[0]])
    unchanged = as_list([encode(b"\x01" * 20), *[b"\xc0"] * 5])
    yield "account added", as_list(sorted([*accounts, unchanged]))
    for index, account in enumerate(accounts):
        members = encoded_items(account)
        if members[3] != b"\xc0":
            emptied = as_list([*members[:3], b"\xc0", *members[4:]])
            yield "balance change missing", as_list([*accounts[:index], emptied, *accounts[index + 1 :]])
            break
    yield "empty", b"\xc0"


def variants(block: bytes, encoded_list: bytes, receipts_gas: int) -> Iterator[tuple[str, bytes, str]]:
    """Yield wrong variants of a block: what is wrong, the block, and the rule that it breaks."""
    header = encoded_items(encoded_items(block)[0])
    start, length = content(header[GAS_USED], 0)
    gas_used = int.from_bytes(header[GAS_USED][start : start + length], "big")
    yield "no slot", with_header(block, lambda members: members[:SLOT]), "slot_number"
    yield "no list hash", with_header(block, lambda members: members[:LIST_HASH]), "block_access_list_hash"
    yield "more members", with_header(block, lambda members: [*members, b"\x80"]), "rlp"
    yield "other list hash", with_header(block, replaced(LIST_HASH, bytes(32))), "block_access_list_hash"
    yield "other requests", with_header(block, replaced(REQUESTS_HASH, bytes(32))), "requests_hash"
    yield "more gas", with_header(block, replaced(GAS_USED, number(gas_used + 1))), "gas_used"
    if receipts_gas != gas_used:
        yield "gas of receipts", with_header(block, replaced(GAS_USED, number(receipts_gas))), "gas_used"
    for name, other in other_lists(encoded_list):
        fitting = with_header(block, replaced(LIST_HASH, keccak256(other)))
        yield name, fitting, "block_access_list_hash"
        yield f"{name}, beside the block", as_list([*encoded_items(fitting), other]), "block_access_list_hash"
    yield "list of another block", as_list([*encoded_items(block), b"\xc0"]), "block_access_list_hash"


def test_wrong_blocks_are_refused_by_their_rules_and_the_right_ones_taken(
    tmp_path: Path, over_chain: Dispatcher
) -> None:
    vectors = require_vectors("amsterdam")
    genesis = (vectors / "genesis.json").read_bytes()
    blocks = list(encoded_blocks(gzip.decompress((vectors / "chain.rlp.gz").read_bytes())))
    ask, refused = asking(over_chain), 0
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        appender = Appender(chain)
        for told in lists():
            block = blocks[told.number - 1]
            if told.list is not None and told.number % 7 == 3:
                receipts = ask("eth_getBlockReceipts", hex(told.number))["result"]
                gas = int(receipts[-1]["cumulativeGasUsed"], 16) if receipts else 0
                for name, wrong, rule in variants(block, bytes.fromhex(told.list[2:]), gas):
                    assert refusal(appender, wrong) == rule, (told.number, name)
                    refused += 1
            assert refusal(appender, block) is None
            appender.store_pending()
    assert refused >= 80
