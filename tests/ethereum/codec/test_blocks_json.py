"""Blocks that other nodes tell in JSON are what they were before."""

import msgspec
import pytest

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import decode_blocks, encode_json_block
from wsnode.ethereum.codec.rendering import render_block, render_uncle
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.state import ChainSpec, InvalidBlockError


def told(chain: Chain, number: int) -> tuple[bytes, list[bytes], bytes]:
    """Return a block's JSON, that of its ommers, and its RLP."""
    with chain.snapshot() as view:
        header, body = view.header(number), view.body(number)
    assert header is not None
    assert body is not None
    text = render_block(header, body, full=True)
    count = len(msgspec.json.decode(text)["uncles"])
    ommers = [render_uncle(body, index) for index in range(count)]
    return text, [ommer for ommer in ommers if ommer is not None], block_rlp(header, body)


def test_every_block_is_the_same_out_of_its_json(execution_apis_chain: Chain) -> None:
    numbers = range(1, execution_apis_chain.head.number + 1)
    for number in numbers:
        text, ommers, encoded = told(execution_apis_chain, number)
        assert encode_json_block(text, ommers) == encoded
    assert len(numbers) > 40


def test_a_hash_in_the_json_is_not_believed(execution_apis_chain: Chain) -> None:
    text, ommers, encoded = told(execution_apis_chain, 9)
    block = msgspec.json.decode(text)
    block["hash"] = "0x" + "11" * 32
    for transaction in block["transactions"]:
        transaction["hash"] = "0x" + "22" * 32
    assert encode_json_block(msgspec.json.encode(block), ommers) == encoded
    block["stateRoot"] = "0x" + "33" * 32
    changed = encode_json_block(msgspec.json.encode(block), ommers)
    assert block_hash(changed) != block_hash(encoded)


def test_a_sender_in_the_json_is_not_believed(execution_apis_chain: Chain) -> None:
    spec = execution_apis_chain.spec
    for number in range(1, execution_apis_chain.head.number + 1):
        text, ommers, encoded = told(execution_apis_chain, number)
        block = msgspec.json.decode(text)
        if not block["transactions"]:
            continue
        block["transactions"][0]["from"] = "0x" + "11" * 20
        again = encode_json_block(msgspec.json.encode(block), ommers)
        assert bodies(spec, again) == bodies(spec, encoded)
        return
    raise AssertionError("no block has a transaction")


def bodies(spec: ChainSpec, encoded: bytes) -> list[bytes]:
    blocks, error = decode_blocks(spec, [encoded])
    assert error is None
    return [block.body for block in blocks]


@pytest.mark.parametrize(
    ("text", "words"),
    [(b"null", "a block"), (b"{", "a block"), (b'{"number":"0x1"}', "a block")],
    ids=["null", "cut off", "half a block"],
)
def test_what_is_no_block_is_refused(text: bytes, words: str) -> None:
    with pytest.raises(InvalidBlockError, match=f"json: expected {words}") as raised:
        encode_json_block(text, [])
    assert raised.value.rule == "json"


def test_hashes_in_the_place_of_transactions_are_refused(execution_apis_chain: Chain) -> None:
    with execution_apis_chain.snapshot() as view:
        header, body = view.header(9), view.body(9)
    assert header is not None
    assert body is not None
    text = render_block(header, body, full=False)
    if msgspec.json.decode(text)["transactions"]:
        with pytest.raises(InvalidBlockError, match="whole transactions"):
            encode_json_block(text, [])


def test_an_ommer_too_many_is_refused(execution_apis_chain: Chain) -> None:
    text, ommers, _ = told(execution_apis_chain, 9)
    with pytest.raises(InvalidBlockError, match="ommers"):
        encode_json_block(text, [*ommers, text])
