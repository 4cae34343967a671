"""Real blocks of public chains: decoded from a node's JSON, verified, and given as that node gave them."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.vector_files import find_vectors, require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    UnverifiedBlock,
    block_from_rows,
    decode_blocks,
    encode_json_block,
    encode_json_receipts,
    verify_with_receipts,
)
from wsnode.ethereum.codec.rendering import render_block, render_receipts
from wsnode.ethereum.codec.rlp import block_hash
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.networks.row import FROM_GENESIS
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.ethereum.state import ChainSpec, InvalidBlockError
from wsnode.ethereum.storage.folder_kind import FolderKind


def described(chain_id: int, header: dict[str, str]) -> bytes:
    """Return a genesis file of a chain outside the table."""
    times = dict.fromkeys(("shanghaiTime", "cancunTime"), 0)
    config = {"chainId": chain_id, **FROM_GENESIS, **times, "terminalTotalDifficulty": 0}
    return msgspec.json.encode({"config": config | {"wsnode": {"header": header}}})


OUTSIDE = {"hyperliquid": described(999, {"gasLimit": "unchecked", "baseFee": "unchecked"})}
"""Genesis files of chains that are not in the table, whose rows name the folders of all others."""
OP_GETH = "op-geth-dev"
"""A chain of op-geth's through all forks of the OP stack, with the genesis file that made it."""
DEPOSIT = "0x7e"
CANYON = 6
"""The block from which on its receipts commit to the nonces of deposits."""


class Captured:
    """A block as a node gave it."""

    def __init__(self, folder: Path) -> None:
        self.name = f"{folder.parent.name}-{folder.name}"
        made = folder.parent / "genesis.json"
        self.spec = ChainSpec(made.read_bytes() if made.exists() else genesis_of(folder.parent.name))
        self.text = read(folder / "block.json")
        self.block: dict[str, Any] = json.loads(self.text)
        has_receipts = any(folder.glob("receipts.json*"))
        self.receipts = read(folder / "receipts.json") if has_receipts else b""

    def decoded(self, text: bytes | None = None) -> UnverifiedBlock:
        """Return the block that a text is of, this one's if none is given.

        Raises:
            InvalidBlockError: It is none.
        """
        blocks, error = decode_blocks(self.spec, [encode_json_block(text or self.text, [])])
        if error is not None:
            raise error
        return blocks[0]

    def verified(self, receipts: bytes | None = None) -> BuiltBlock | InvalidBlockError:
        """Return the block with receipts, its own if none are given, or what they break."""
        row = encode_json_receipts(receipts or self.receipts)
        return verify_with_receipts(self.spec, self.decoded(), row)


def genesis_of(chain: str) -> bytes:
    return OUTSIDE.get(chain) or find_network(chain).genesis


def read(path: Path) -> bytes:
    return (
        path.read_bytes()
        if path.exists()
        else gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes())
    )


def hash_of(text: bytes) -> str:
    """Return the hash of a block in JSON."""
    found = block_hash(encode_json_block(text, []))
    assert found is not None
    return hexadecimal(found)


def captured() -> Iterator[Captured]:
    """Yield every block of the vectors."""
    folder = find_vectors("chains")
    for path in sorted(folder.glob("*/*/")) if folder is not None else ():
        yield Captured(path)


CAPTURED = list(captured())
BLOCKS = [pytest.param(each, id=each.name) for each in CAPTURED]
WITH_RECEIPTS = [pytest.param(each, id=each.name) for each in CAPTURED if each.receipts]
pytestmark = pytest.mark.skipif(not BLOCKS, reason="no vectors `chains`")


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """Yield where ours lacks a member of theirs, or has another value."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name, value in theirs.items():
            if name not in ours:
                yield f"{place}.{name} is missing"
            else:
                yield from differences(ours[name], value, f"{place}.{name}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(ours) == len(theirs):
        for index, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(our, their, f"{place}[{index}]")
    elif ours != theirs:
        yield f"{place}: {ours!r:.80}, captured {theirs!r:.80}"


def unproved(captured: Captured) -> set[str]:
    """Return the members that no root commits to, which are left out."""
    if captured.name.startswith("arbitrum"):
        return {"gasUsedForL1", "timeboosted"}
    is_before_canyon = captured.name.startswith(OP_GETH) and int(captured.block["number"], 16) < CANYON
    return {"nonce", "depositNonce"} if is_before_canyon else set()


@pytest.mark.parametrize("captured", BLOCKS)
def test_a_block_is_given_as_captured(captured: Captured) -> None:
    assert hash_of(captured.text) == captured.block["hash"]
    decoded = captured.decoded()
    assert decoded.has_own_body
    block = json.loads(render_block(decoded.header, decoded.body, full=True))
    # The nonce of a deposit is in its receipt alone.
    known = {
        **captured.block,
        "transactions": [but_of_receipts(each) for each in captured.block["transactions"]],
    }
    assert not list(differences(block, known))


def but_of_receipts(transaction: dict[str, Any]) -> dict[str, Any]:
    if transaction["type"] != DEPOSIT:
        return transaction
    return {name: transaction[name] for name in transaction.keys() - {"nonce", "depositReceiptVersion"}}


@pytest.mark.parametrize("captured", WITH_RECEIPTS)
def test_a_block_is_verified_and_given_with_its_receipts_as_captured(captured: Captured) -> None:
    verified = captured.verified()
    assert isinstance(verified, BuiltBlock), str(verified)
    block = json.loads(render_block(verified.header, verified.body, full=True))
    receipts = json.loads(render_receipts(verified.header, verified.body, verified.receipts))
    found = [*differences(block, captured.block), *differences(receipts, json.loads(captured.receipts))]
    missing = [f".{name} is missing" for name in unproved(captured)]
    assert not [each for each in found if not each.endswith(tuple(missing)) or not missing]


@pytest.mark.parametrize("captured", WITH_RECEIPTS)
def test_a_verified_block_is_the_same_out_of_its_rows(captured: Captured) -> None:
    verified = captured.verified()
    assert isinstance(verified, BuiltBlock)
    again = verify_with_receipts(
        captured.spec, block_from_rows(captured.spec, verified.header, verified.body), verified.receipts
    )
    assert isinstance(again, BuiltBlock), str(again)
    assert (again.header, again.body, again.receipts) == (verified.header, verified.body, verified.receipts)
    encoded = block_rlp(verified.header, verified.body)
    assert encoded == encode_json_block(captured.text, [])


def changed(value: Any) -> Any:
    """Return another value of the same form."""
    if isinstance(value, bool):
        return not value
    if not isinstance(value, str) or not value.startswith("0x"):
        return value
    last = "1" if value[-1] != "1" else "2"
    return f"{value[:-1]}{last}" if len(value) > 2 else "0x01"


HASHED = ("parentHash", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty")
HASHED_TOO = ("number", "gasLimit", "gasUsed", "timestamp", "extraData", "mixHash", "nonce", "baseFeePerGas")


@pytest.mark.parametrize("captured", BLOCKS)
def test_a_changed_member_of_a_header_gives_another_hash(captured: Captured) -> None:
    for name in (*HASHED, *HASHED_TOO):
        if name in captured.block:
            text = msgspec.json.encode({**captured.block, name: changed(captured.block[name])})
            assert hash_of(text) != captured.block["hash"], name


@pytest.mark.slow
@pytest.mark.parametrize("captured", BLOCKS)
def test_a_changed_transaction_is_not_the_blocks(captured: Captured) -> None:
    first, *others = captured.block["transactions"]
    names = {"nonce", "gas", "to", "value", "input", "mint", "sourceHash", "from"} & first.keys()
    # A signature says who signed, and a receipt which nonce a deposit has.
    for name in names - ({"nonce"} if first["type"] == DEPOSIT else {"from"}):
        lie = {**first, name: changed(first[name])}
        text = msgspec.json.encode({**captured.block, "transactions": [lie, *others]})
        misled, honest = captured.decoded(text), captured.decoded()
        # What a type does not have is not read.
        assert not misled.has_own_body or (misled.header, misled.body) == (honest.header, honest.body), name


@pytest.mark.parametrize("captured", WITH_RECEIPTS)
def test_changed_receipts_are_refused(captured: Captured) -> None:
    first, *others = json.loads(captured.receipts)
    lies = [
        [{**first, "cumulativeGasUsed": changed(first["cumulativeGasUsed"])}, *others],
        [{**first, "logsBloom": changed(first["logsBloom"])}, *others],
        others,
    ]
    if first["logs"]:
        lies.append([{**first, "logs": first["logs"][1:]}, *others])
    if "depositReceiptVersion" in first:
        lies.append([{**first, "depositNonce": changed(first["depositNonce"])}, *others])
    for lie in lies:
        refused = captured.verified(msgspec.json.encode(lie))
        assert isinstance(refused, InvalidBlockError)
        assert refused.rule == "receipts_root"


FEES = ("l1Fee", "l1GasUsed", "l1GasPrice", "l1BlobBaseFee", "operatorFeeConstant", "blobGasUsed")
POSITION = ("l1BlockNumber", "effectiveGasPrice", "gasUsedForL1")


@pytest.mark.parametrize("captured", WITH_RECEIPTS)
def test_a_fee_that_a_node_only_tells_is_computed(captured: Captured) -> None:
    told = json.loads(captured.receipts)
    lie = [
        {**each, **{name: changed(each[name]) for name in (*FEES, *POSITION) if name in each}}
        for each in told
    ]
    verified, misled = captured.verified(), captured.verified(msgspec.json.encode(lie))
    assert isinstance(verified, BuiltBlock)
    assert isinstance(misled, BuiltBlock)
    assert misled.receipts == verified.receipts
    assert misled.body == verified.body


def test_each_block_of_the_op_stack_keeps_the_rules_after_its_parent(tmp_path: Path) -> None:
    blocks = {int(each.block["number"], 16): each for each in CAPTURED if each.name.startswith(OP_GETH)}
    if not blocks:
        pytest.skip("no vectors `chains/op-geth-dev`")
    genesis = (require_vectors(f"chains/{OP_GETH}") / "genesis.json").read_bytes()
    pairs = [(blocks[number - 1], blocks[number]) for number in blocks if number - 1 in blocks]
    with Chain.open(
        tmp_path, genesis, writer=True, durable=False, kind=FolderKind(100, is_light=True)
    ) as chain:
        for parent, child in pairs:
            above = parent.decoded()
            before = [(above.header, above.body)]
            assert chain.executor.verify_header(child.decoded(), before, total_difficulty=0) is None
            for name, lie in (("baseFeePerGas", "0x7"), ("extraData", "0x0102"), ("timestamp", "0x1")):
                text = msgspec.json.encode({**child.block, name: lie})
                error = chain.executor.verify_header(child.decoded(text), before, total_difficulty=0)
                is_checked = name != "baseFeePerGas" or parent.block["extraData"] != "0x"
                assert (error is not None) == is_checked, (child.name, name)
    assert len(pairs) > 10


def test_each_block_of_arbitrum_keeps_the_rules_after_its_parent(tmp_path: Path) -> None:
    captured = next((each for each in CAPTURED if each.name.startswith("arbitrum")), None)
    if captured is None:
        pytest.skip("no vectors `chains/arbitrum`")
    child = captured.block
    # Of its parent no more is known than its hash, so that a block after the captured one is held against it.
    follows = {**child, "parentHash": child["hash"], "number": hex(int(child["number"], 16) + 1)}
    kind = FolderKind(100, is_light=True)
    genesis = find_network("arbitrum").genesis
    with Chain.open(tmp_path, genesis, writer=True, durable=False, kind=kind) as chain:
        above = captured.decoded()

        def broken(**changed: str) -> str | None:
            block = captured.decoded(msgspec.json.encode(follows | changed))
            error = chain.executor.verify_header(block, [(above.header, above.body)], total_difficulty=0)
            return None if error is None else error.rule

        assert broken() is None
        assert broken(baseFeePerGas="0x7", gasLimit="0x3000000000000", nonce="0x" + "11" * 8) is None
        assert broken(difficulty="0x2") == "difficulty"
        assert broken(difficulty="0x0") == "difficulty"
        assert broken(extraData="0x1234") == "extra_data"
        assert broken(timestamp=hex(int(child["timestamp"], 16) - 1)) == "timestamp"
        assert broken(gasUsed="0x4000000000001") == "gas_used_above_limit"


def test_a_type_that_the_chain_does_not_have_is_named() -> None:
    captured = next((each for each in CAPTURED if each.name.startswith(OP_GETH)), None)
    if captured is None:
        pytest.skip("no vectors `chains/op-geth-dev`")
    encoded = encode_json_block(captured.text, [])
    blocks, error = decode_blocks(ChainSpec(find_network("polygon").genesis), [encoded])
    assert not blocks
    assert error is not None
    assert error.rule == "transaction_type"
    assert "transaction 0 of type 0x7e (deposit)" in str(error)
