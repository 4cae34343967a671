"""Branches of made-up blocks, and the documents of a dump that holds them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from wsnode.demo.starknet_chain import StarknetBlockMaker
from wsnode.starknet.block import StateDiff, UnverifiedStarknetBlock
from wsnode.starknet.diff_json import flat_diff, nested_diff
from wsnode.starknet.felt import felt_text, number_felt

SYSTEM = number_felt(1)
"""A contract that needs no class."""


def branch(values: Iterable[Sequence[int]]) -> list[UnverifiedStarknetBlock]:
    """Return blocks from genesis on, each of which writes these values to the first slots."""
    maker = StarknetBlockMaker()
    return [maker.make(StateDiff(storage=_slots(written))) for written in values]


def _slots(values: Sequence[int]) -> list[tuple[bytes, bytes, bytes]]:
    return [(SYSTEM, number_felt(key), number_felt(value)) for key, value in enumerate(values)]


def document(block: UnverifiedStarknetBlock) -> dict[str, Any]:
    """Return a block's header and state update as one document."""
    header = block.header
    assert header.parent_hash is not None
    return {
        **header.more,
        "block_hash": felt_text(block.hash),
        "block_number": block.number,
        "parent_hash": felt_text(header.parent_hash),
        "timestamp": header.timestamp,
        "starknet_version": header.version,
        "old_root": felt_text(block.old_root),
        "new_root": felt_text(block.new_root),
        "state_diff": msgspec.to_builtins(nested_diff(flat_diff(block.diff))),
    }


def write_dump(path: Path, blocks: Iterable[UnverifiedStarknetBlock]) -> Path:
    """Write a dump of one file and return it."""
    path.write_text("".join(json.dumps(document(block)) + "\n" for block in blocks))
    return path
