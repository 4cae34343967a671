"""What subscribers are sent, over the blocks of execution-apis: headers alone, and logs one by one."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rendering import render_block, render_each_log, render_header, stored_logs
from wsnode.ethereum.codec.rows import CorruptRowError, log_count, log_values
from wsnode.ethereum.snapshot import Snapshot

Rows = tuple[bytes, bytes, bytes]
# The order in which geth sends them.
MEMBERS = [
    "parentHash",
    "sha3Uncles",
    "miner",
    "stateRoot",
    "transactionsRoot",
    "receiptsRoot",
    "logsBloom",
    "difficulty",
    "number",
    "gasLimit",
    "gasUsed",
    "timestamp",
    "extraData",
    "mixHash",
    "nonce",
    "baseFeePerGas",
    "withdrawalsRoot",
    "blobGasUsed",
    "excessBlobGas",
    "parentBeaconBlockRoot",
    "requestsHash",
    "blockAccessListHash",
    "slotNumber",
    "hash",
]
BY_FORK = MEMBERS[15:23]
# How many of those a block has: the first of Homestead, London, Shanghai, Cancun, Prague, and the last.
KNOWN = {1: 0, 27: 1, 39: 2, 42: 5, 45: 6, 54: 6}


@pytest.fixture(scope="session")
def rows(execution_apis_chain: Chain) -> list[Rows]:
    """Header, body and receipts of every block."""
    with execution_apis_chain.snapshot() as snapshot:
        return [_rows(snapshot, number) for number in range(1, snapshot.number + 1)]


def _rows(snapshot: Snapshot, number: int) -> Rows:
    header, body, receipts = snapshot.header(number), snapshot.body(number), snapshot.receipts(number)
    assert header is not None
    assert body is not None
    assert receipts is not None
    return header, body, receipts


def test_a_header_has_geths_members_in_geths_order(rows: list[Rows]) -> None:
    for header, _, _ in rows:
        assert list(json.loads(render_header(header))) == MEMBERS


def test_a_header_says_of_a_block_what_the_block_says(rows: list[Rows]) -> None:
    for header, body, _ in rows:
        block = json.loads(render_block(header, body, full=False))
        for name, member in json.loads(render_header(header)).items():
            assert member == block.get(name)


@pytest.mark.parametrize("number", KNOWN)
def test_a_header_has_a_null_for_what_its_fork_lacks(rows: list[Rows], number: int) -> None:
    members = json.loads(render_header(rows[number - 1][0]))
    assert [name for name in MEMBERS if members[name] is None] == BY_FORK[KNOWN[number] :]


def test_each_log_joined_is_all_logs(execution_apis_chain: Chain, rows: list[Rows]) -> None:
    every = []
    with execution_apis_chain.snapshot() as snapshot:
        for number, block in enumerate(rows, 1):
            each = render_each_log(*block, range(log_count(block[2])))
            assert b",".join(each) == stored_logs(snapshot.reader, [(number, None)])
            every += each
        numbers = range(1, len(rows) + 1)
        assert b",".join(every) == stored_logs(snapshot.reader, [(number, None) for number in numbers])


@settings(max_examples=examples(50))
@given(st.data())
def test_logs_come_in_the_order_that_is_asked_for(
    execution_apis_chain: Chain, rows: list[Rows], data: st.DataObject
) -> None:
    place = data.draw(st.sampled_from([place for place, block in enumerate(rows) if log_count(block[2])]))
    wanted = data.draw(st.lists(st.integers(0, log_count(rows[place][2]) - 1), max_size=5))
    each = render_each_log(*rows[place], wanted)
    with execution_apis_chain.snapshot() as snapshot:
        assert each == [stored_logs(snapshot.reader, [(place + 1, [index])]) for index in wanted]
        assert b",".join(each) == stored_logs(snapshot.reader, [(place + 1, wanted)])


def test_a_removed_log_differs_only_in_saying_so(rows: list[Rows]) -> None:
    for block in rows:
        numbers = range(log_count(block[2]))
        kept = [json.loads(text) for text in render_each_log(*block, numbers)]
        removed = [json.loads(text) for text in render_each_log(*block, numbers, removed=True)]
        assert removed == [log | {"removed": True} for log in kept]


def test_the_values_of_a_log_are_those_it_is_shown_with(rows: list[Rows]) -> None:
    for block in rows:
        shown = [json.loads(text) for text in render_each_log(*block, range(log_count(block[2])))]
        assert log_values(block[2]) == [
            (_bytes(log["address"]), tuple(_bytes(topic) for topic in log["topics"])) for log in shown
        ]


def test_a_log_that_is_not_there_is_an_error(rows: list[Rows]) -> None:
    with pytest.raises(CorruptRowError):
        render_each_log(*rows[0], [log_count(rows[0][2])])


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text[2:])
