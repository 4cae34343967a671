"""Header rules of chains that are not Ethereum: which members are checked, and against what."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import UnverifiedBlock, decode_blocks, keccak256
from wsnode.ethereum.codec.rlp import Item, encode, number
from wsnode.ethereum.codec.rows import header_fields
from wsnode.ethereum.networks.row import FROM_GENESIS
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.state import ChainSpec, InvalidGenesisError
from wsnode.ethereum.storage.folder_kind import FolderKind

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
EMPTY_OMMERS = bytes.fromhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
GAS_LIMIT = 30_000_000
BASE_FEE = 1_000_000_000
AUTHORITY = {"seal": "authority", "extraData": "unchecked"}


def genesis(header: dict[str, str], **config: Any) -> bytes:
    """Return a genesis file of a chain with rules of its own, whose forks up to London are active."""
    described = {"chainId": 4242, **FROM_GENESIS, "terminalTotalDifficulty": 0, "wsnode": {"header": header}}
    return msgspec.json.encode({"config": described | config})


def block(parent_hash: bytes, block_number: int, **members: Any) -> bytes:
    """Return the RLP of an empty block; `later` are members after the base fee."""
    header: list[Item] = [
        parent_hash,
        EMPTY_OMMERS,
        bytes(20),
        EMPTY_ROOT,
        EMPTY_ROOT,
        EMPTY_ROOT,
        bytes(256),
        number(members.get("difficulty", 0)),
        number(block_number),
        number(members.get("gas_limit", GAS_LIMIT)),
        number(members.get("gas_used", GAS_LIMIT // 2)),
        number(members.get("timestamp", 1000 + block_number)),
        members.get("extra_data", b""),
        bytes(32),
        members.get("nonce", bytes(8)),
        number(members.get("base_fee", BASE_FEE)),
        *members.get("later", ()),
    ]
    return encode([header, [], []])


@contextmanager
def opened(folder: Path, text: bytes) -> Iterator[Chain]:
    kind = FolderKind(100, is_light=True)
    with Chain.open(folder, text, writer=True, durable=False, kind=kind) as chain:
        yield chain


def decoded(spec: ChainSpec, encoded: bytes) -> UnverifiedBlock:
    blocks, error = decode_blocks(spec, [encoded])
    assert error is None
    return blocks[0]


def broken_rule(folder: Path, text: bytes, parent: dict[str, Any], child: dict[str, Any]) -> str | None:
    """Return which rule a block breaks after a parent, None if it keeps all."""
    with opened(folder, text) as chain:
        first = block(bytes(32), 9, **parent)
        above = decoded(chain.spec, first)
        second = decoded(chain.spec, block(above.hash, 10, **child))
        before = [(above.header, above.body)]
        error = chain.executor.verify_header(second, before, total_difficulty=0)
    return None if error is None else error.rule


@pytest.mark.parametrize(
    ("rules", "child", "rule"),
    [
        ({}, {}, None),
        ({}, {"difficulty": 2}, "difficulty"),
        ({"seal": "authority"}, {"difficulty": 2, "nonce": b"\xff" * 8}, None),
        ({}, {"extra_data": bytes(33)}, "extra_data"),
        ({"extraData": "unchecked"}, {"extra_data": bytes(97)}, None),
        ({}, {"timestamp": 1009}, "timestamp"),
        ({"time": "laterOrEqual"}, {"timestamp": 1009}, None),
        ({"time": "laterOrEqual"}, {"timestamp": 1008}, "timestamp"),
        ({}, {"gas_limit": 40_000_000}, "gas_limit"),
        ({"gasLimit": "unchecked"}, {"gas_limit": 40_000_000}, None),
        ({"gasLimit": "unchecked"}, {"gas_used": GAS_LIMIT + 1}, "gas_used_above_limit"),
        ({}, {"base_fee": 0}, "base_fee"),
        ({"baseFee": "unchecked"}, {"base_fee": 0}, None),
        ({}, {"later": [EMPTY_ROOT]}, "withdrawals_presence"),
    ],
)
def test_a_rule_is_ethereums_unless_the_chain_has_another(
    tmp_path: Path, rules: dict[str, str], child: dict[str, Any], rule: str | None
) -> None:
    assert broken_rule(tmp_path, genesis(rules), {}, child) == rule


def test_a_block_of_an_authority_has_the_hash_of_its_parent_and_the_next_number(tmp_path: Path) -> None:
    with opened(tmp_path, genesis(AUTHORITY)) as chain:
        above = decoded(chain.spec, block(bytes(32), 9))
        before = [(above.header, above.body)]
        for encoded, rule in ((block(bytes(32), 10), "parent_hash"), (block(above.hash, 11), "number")):
            error = chain.executor.verify_header(decoded(chain.spec, encoded), before, total_difficulty=0)
            assert error is not None
            assert error.rule == rule


def test_later_members_may_be_absent_where_they_are_not_checked(tmp_path: Path) -> None:
    rules = {"members": "unchecked", "blobGas": "unchecked"}
    times = dict.fromkeys(("shanghaiTime", "cancunTime", "pragueTime"), 0)
    assert broken_rule(tmp_path, genesis(rules, **times), {}, {}) is None


def test_the_base_fee_of_the_next_block_is_the_parents_where_its_rule_is_not_known() -> None:
    spec = ChainSpec(genesis({"baseFee": "unchecked"}))
    parent = decoded(spec, block(bytes(32), 9, base_fee=7, gas_used=GAS_LIMIT))
    assert spec.next_base_fee(header_fields(parent.header)) == 7


@pytest.mark.parametrize(
    ("described", "words"),
    [
        ({"family": "move"}, "unknown variant `move`"),
        ({"header": {"seal": "wax"}}, "unknown variant `wax`"),
        ({"header": {"colour": "red"}}, "unknown field `colour`"),
        ({"famly": "ethereum"}, "unknown field `famly`"),
    ],
)
def test_a_misspelt_rule_is_refused_by_its_name(described: dict[str, Any], words: str) -> None:
    config = {"chainId": 1, **FROM_GENESIS, "wsnode": described}
    with pytest.raises(InvalidGenesisError, match=f"config.wsnode: {words}"):
        ChainSpec(msgspec.json.encode({"config": config}))


def test_a_genesis_without_accounts_and_rules_of_its_own_is_still_refused() -> None:
    with pytest.raises(InvalidGenesisError, match="alloc is missing"):
        ChainSpec(msgspec.json.encode({"config": {"chainId": 1, **FROM_GENESIS}}))


def test_the_lowest_price_of_blob_gas_is_the_chains(tmp_path: Path) -> None:
    gnosis = ChainSpec(find_network("gnosis").genesis)
    assert gnosis.blob_parameters(1_776_168_380) == (1, 2, 1112826)
    later: list[Item] = [EMPTY_ROOT, b"", b"", bytes(32), keccak256(b"")]
    encoded = block(bytes(32), 20_000_000, timestamp=1_776_168_380, later=later)
    assert header_fields(decoded(gnosis, encoded).header).blob_base_fee == 1_000_000_000


def test_a_chain_whose_genesis_is_not_known_has_no_block_before_it_begins(tmp_path: Path) -> None:
    with opened(tmp_path, find_network("bsc").genesis) as chain, chain.snapshot() as view:
        assert not chain.has_begun
        assert view.earliest == 1
        assert chain.spec.genesis_hash.hex() == (find_network("bsc").genesis_hash or "")[2:]
