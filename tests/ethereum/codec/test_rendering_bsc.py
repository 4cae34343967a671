"""The time in milliseconds that blocks of BNB Smart Chain show, and no others."""

import json
from typing import Any, Final

import pytest

from tests.ethereum.test_networks_header_rules import EMPTY_ROOT
from tests.families.built_blocks import SEAL, Header, Place, build, since_prague
from wsnode.ethereum.codec.blocks import (
    BuiltBlock,
    decode_blocks,
    encode_json_block,
    encode_json_receipts,
    verify_with_receipts,
)
from wsnode.ethereum.codec.rendering import render_block, render_header
from wsnode.ethereum.networks.table import find_network
from wsnode.ethereum.state import ChainSpec

BSC: Final = ChainSpec(find_network("bsc-testnet").genesis)
TIME: Final = 1_750_000_001
BLOCK: Final = Header(60_000_000, difficulty=2, extra_data=SEAL, later=since_prague(0, EMPTY_ROOT))


def mix_hash(milliseconds: int) -> bytes:
    return milliseconds.to_bytes(32, "big")


def shown(header: Header, time: int = TIME) -> list[dict[str, Any]]:
    """Return a verified block and its header, as objects; out of its JSON it is the same block."""
    made = build(header, Place(bytes(32), 55_475_597, time, 0), [])
    blocks, error = decode_blocks(BSC, [made.encoded])
    assert error is None, str(error)
    found = verify_with_receipts(BSC, blocks[0], encode_json_receipts(made.receipts))
    assert isinstance(found, BuiltBlock), str(found)
    text = render_block(found.header, found.body, full=False)
    assert encode_json_block(text, []) == made.encoded
    return [json.loads(text), json.loads(render_header(found.header))]


@pytest.mark.parametrize(
    ("time", "milliseconds", "wanted"),
    [
        # Blocks 55,475,597 and 55,475,598 of the testnet, and 75,757,661 of the chain, as bsc gives them.
        (0x6855884D, 0, "0x1978e1c6cc8"),
        (0x6855884D, 0x2EE, "0x1978e1c6fb6"),
        (0x696B3D12, 0x1C2, "0x19bcae69012"),
        (TIME, 1, hex(TIME * 1000 + 1)),
        (TIME, 999, hex(TIME * 1000 + 999)),
    ],
)
def test_the_time_is_that_of_the_seconds_and_of_the_mix_hash(
    time: int, milliseconds: int, wanted: str
) -> None:
    for members in shown(BLOCK._replace(mix_hash=mix_hash(milliseconds)), time):
        assert members["milliTimestamp"] == wanted


@pytest.mark.parametrize(
    "changed",
    [
        {"difficulty": 0},
        {"extra_data": SEAL[:-1]},
        {"mix_hash": mix_hash(1000)},
        {"mix_hash": b"\x01" + bytes(31)},
        {"later": since_prague(0, EMPTY_ROOT)[:1]},
        {"later": [*since_prague(0, EMPTY_ROOT)[:4], b"\x01" * 32]},
    ],
    ids=["proof of stake", "no seal", "a second", "a random value", "London", "a beacon block"],
)
def test_a_header_of_another_chain_has_no_such_time(changed: dict[str, Any]) -> None:
    for members in shown(BLOCK._replace(**changed)):
        assert "milliTimestamp" not in members
