"""Blocks built on the committed state."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sync.forks import genesis
from wsnode.ethereum.appender import Appender, BlockRows
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock, VerifiedBlock, block_from_rows, decode_blocks
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.state import (
    BlockAttributes,
    CancelFlag,
    EngineError,
    InvalidBlockError,
    address_of,
    trace_block,
    unsigned_transaction,
)

SECRET = bytes([7]) * 32
SENDER = address_of(SECRET)
CONTRACT = bytes([0x13]) * 20
SOMEBODY = bytes([0x42]) * 20


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[Chain]:
    members = json.loads(genesis(merged=True))
    rich = "0x" + "f" * 20
    members["alloc"] = {
        SENDER.hex(): {"balance": rich},
        CONTRACT.hex(): {"balance": rich, "code": "0x00", "nonce": "0x1"},
    }
    with Chain.open(tmp_path, json.dumps(members).encode(), writer=True, durable=False) as chain:
        yield chain


def attributes(timestamp: int) -> BlockAttributes:
    return BlockAttributes(
        timestamp=timestamp,
        fee_recipient=bytes(20),
        prev_randao=bytes(32),
        gas_limit=30_000_000,
        parent_beacon_block_root=bytes(32),
    )


def sending(sender: bytes, nonce: int) -> bytes:
    return unsigned_transaction(
        sender,
        chain_id=1,
        nonce=nonce,
        to=SOMEBODY,
        value=1,
        input=b"",
        gas=21_000,
        max_fee=10**10,
        max_priority_fee=1,
    )


def taken(chain: Chain, parent: BlockRows, transaction: bytes, sender: bytes | None) -> VerifiedBlock:
    """Return the block that holds the transaction."""
    block, refused = chain.state.build_block(parent, attributes(12), [transaction], senders=[sender])
    assert not refused
    return block


def test_a_contract_sends_when_its_name_is_taken(chain: Chain) -> None:
    appender = Appender(chain)
    block = taken(chain, appender.tip, sending(CONTRACT, 1), CONTRACT)
    extension = appender.extend([block_from_rows(chain.spec, block.header, block.body)])
    assert extension.error is None
    appender.store(appender.take_pending())
    account = chain.state.account(SOMEBODY, chain.state.committed_head)
    assert account is not None
    assert account[1] == 1
    assert CONTRACT in block.body


def test_what_a_contract_sent_can_be_traced(chain: Chain) -> None:
    block = taken(chain, Appender(chain).tip, sending(CONTRACT, 1), CONTRACT)
    trace = trace_block(
        chain.state,
        (block.header, block.body),
        b'{"tracer":"callTracer"}',
        index=0,
        seconds=60.0,
        size=1 << 20,
        cancel=CancelFlag(),
    )
    assert isinstance(trace, bytes)
    assert json.loads(trace)["from"] == "0x" + CONTRACT.hex()


def test_such_a_block_is_refused_from_elsewhere(chain: Chain) -> None:
    block = taken(chain, Appender(chain).tip, sending(SENDER, 0), SENDER)
    blocks, error = decode_blocks(chain.spec, [block_rlp(block.header, block.body)])
    assert not blocks
    assert error is not None
    assert error.rule == "transaction_signature"


@pytest.mark.parametrize("sender", [None, CONTRACT], ids=["nobody", "another"])
def test_nobody_takes_a_name_without_being_told(chain: Chain, sender: bytes | None) -> None:
    transactions = [sending(SENDER, 0)]
    block, refused = chain.state.build_block(
        Appender(chain).tip, attributes(12), transactions, senders=[sender]
    )
    assert block.transaction_count == 0
    assert [index for index, _ in refused] == [0]


def test_each_transaction_has_a_sender_or_none(chain: Chain) -> None:
    with pytest.raises(ValueError, match="1 senders for 2 transactions"):
        chain.state.build_block(Appender(chain).tip, attributes(12), [b"", b""], senders=[None])


def test_blocks_are_built_beside_a_writer_with_more(chain: Chain) -> None:
    appender = Appender(chain)
    parent = appender.tip
    first = taken(chain, parent, sending(SENDER, 0), SENDER)
    assert appender.extend([block_from_rows(chain.spec, first.header, first.body)]).error is None
    assert (chain.state.head[0], chain.state.committed_head[0]) == (1, 0)
    assert taken(chain, parent, sending(SENDER, 0), SENDER).hash == first.hash
    appender.store(appender.take_pending())
    assert taken(chain, parent, sending(SENDER, 0), SENDER).hash == first.hash


def built_next(chain: Chain, appender: Appender, nonces: range) -> BuiltBlock:
    """Return the block after the head with these transactions, which is not accepted yet."""
    transactions = [sending(SENDER, nonce) for nonce in nonces]
    block, refused = chain.state.build_next(
        appender.tip, attributes(12), transactions, senders=[SENDER] * len(nonces)
    )
    assert not refused
    return block


def test_a_block_that_is_made_on_the_head_is_one_that_another_chain_executes(chain: Chain) -> None:
    appender = Appender(chain)
    expected = taken(chain, appender.tip, sending(SENDER, 0), SENDER)
    made = built_next(chain, appender, range(1))
    assert (made.header, made.body, made.receipts) == (expected.header, expected.body, expected.receipts)
    appender.accept_made(made, attributes(12))
    appender.store_pending()
    assert chain.state.committed_head == (1, expected.hash)
    chain.unwind(0)
    again = Appender(chain)
    assert again.extend([block_from_rows(chain.spec, made.header, made.body)]).error is None


def test_a_block_that_is_made_and_not_accepted_leaves_nothing(chain: Chain) -> None:
    appender = Appender(chain)
    other = taken(chain, appender.tip, sending(SENDER, 0), SENDER)
    built_next(chain, appender, range(3))
    assert chain.state.head[0] == 0
    assert appender.extend([block_from_rows(chain.spec, other.header, other.body)]).error is None
    appender.store_pending()
    assert chain.state.committed_head == (1, other.hash)
    account = chain.state.account(SOMEBODY, chain.state.committed_head)
    assert account is not None
    assert account[1] == 1


def test_a_made_block_is_accepted_after_others_were_tried(chain: Chain) -> None:
    appender = Appender(chain)
    made = built_next(chain, appender, range(2))
    built_next(chain, appender, range(1))
    appender.accept_made(made, attributes(12))
    appender.store_pending()
    account = chain.state.account(SOMEBODY, chain.state.committed_head)
    assert account is not None
    assert account[1] == 2


def test_a_made_block_keeps_the_rules_of_headers(chain: Chain) -> None:
    appender = Appender(chain)
    block, _ = chain.state.build_next(appender.tip, attributes(0), [])
    with pytest.raises(InvalidBlockError) as raised:
        appender.accept_made(block, attributes(0))
    assert raised.value.rule == "timestamp"
    assert appender.head.number == chain.state.head[0] == 0


def test_a_block_is_made_on_the_head_alone(chain: Chain) -> None:
    appender = Appender(chain)
    parent = appender.tip
    appender.accept_made(built_next(chain, appender, range(1)), attributes(12))
    with pytest.raises(EngineError, match="another block than the head"):
        chain.state.build_next(parent, attributes(24), [])
