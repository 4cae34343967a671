"""Other people's blocks as payloads: each is judged as a block is, and the last one becomes the head."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.payload_form import NoPayloadError, decoded, encoded, payload_of
from tests.conformance.test_ethereum_tests import cases, files, genesis
from tests.vector_files import require_vectors
from wsnode.ethereum.appender import recent_rows
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import BuiltBlock, Payload, decode_blocks, keccak256
from wsnode.ethereum.live.hub import Hub
from wsnode.ethereum.payloads.engine_chain import EngineChain, PayloadSidecar
from wsnode.ethereum.payloads.payload import PayloadStatus
from wsnode.ethereum.primitives.values import Hash32, hexadecimal
from wsnode.ethereum.tree.head_writer import LiveTree
from wsnode.ethereum.tree.tree import BlockTree


def driven(chain: Chain) -> tuple[EngineChain, BlockTree]:
    tree = BlockTree(chain)
    return EngineChain(chain, LiveTree(tree, Hub(chain))), tree


async def give(node: EngineChain, block: bytes, requests: Sequence[bytes] = ()) -> PayloadStatus:
    """Give a block in RLP as the payload that stands for it, with the requests that it commits to."""
    block_hash = keccak256(encoded(decoded(block)[0]))
    payload, beside = payload_of(block, block_hash)
    root = beside.get("parentBeaconBlockRoot")
    if (committed := beside.get("requestsHash")) is not None:
        each = b"".join(sha256(request).digest() for request in requests)
        assert committed == hexadecimal(sha256(each).digest())
    hashes = blob_hashes(payload["transactions"])
    given = PayloadSidecar(
        blob_hashes=None if root is None else hashes,
        parent_beacon_block_root=None if root is None else bytes.fromhex(root[2:]),
        requests=None if committed is None else requests,
    )
    return await node.take(Payload(json.dumps(payload).encode()), given)


def blob_hashes(transactions: list[str]) -> list[bytes]:
    blobs = [decoded(bytes.fromhex(each[4:])) for each in transactions if each.startswith("0x03")]
    return [versioned_hash for fields in blobs for versioned_hash in fields[10]]


@pytest.mark.slow
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
async def test_the_blocks_of_a_file_are_judged_as_payloads(path: Path, tmp_path: Path) -> None:
    for case in cases(path):
        with Chain.open(tmp_path, genesis(case), writer=True, durable=False) as chain:
            node, tree = driven(chain)
            for block in case["blocks"]:
                try:
                    status = await give(node, bytes.fromhex(block["rlp"][2:]))
                except NoPayloadError:
                    assert block.get("expectException"), "a valid block has a payload"
                    continue
                assert status.status == ("INVALID" if block.get("expectException") else "VALID"), status
                if status.latest_valid_hash is not None:
                    assert tree.header(bytes.fromhex(status.latest_valid_hash[2:])) is not None
            last = Hash32(bytes.fromhex(case["lastblockhash"][2:]))
            assert (await node.choose(last, None, None)).latest_valid_hash == hexadecimal(last)
            assert chain.head.hash == last


async def test_the_chain_of_execution_apis_is_driven_from_the_merge_on(tmp_path: Path) -> None:
    vectors = require_vectors("execution-apis")
    blocks = split((vectors / "chain.rlp").read_bytes())
    with Chain.open(tmp_path, (vectors / "genesis.json").read_bytes(), writer=True, durable=False) as chain:
        node, tree = driven(chain)
        given = 0
        for block in blocks:
            header = decoded(block)[0]
            if header[7]:
                # A block of proof of work, which no consensus client gives.
                found, error = decode_blocks(chain.spec, [block])
                assert error is None
                assert tree.extend(found).error is None
                tree.store(tree.take_pending())
                continue
            status = await give(node, block, requests_of(chain, block))
            assert status.status == "VALID", status
            block_hash = Hash32(bytes.fromhex(str(status.latest_valid_hash)[2:]))
            assert (await node.choose(block_hash, None, None)).status == "VALID"
            given += 1
        told: Any = json.loads((vectors / "headfcu.json").read_text())
        assert hexadecimal(chain.head.hash) == told["params"][0]["headBlockHash"]
        assert given > 10


def requests_of(chain: Chain, block: bytes) -> Sequence[bytes]:
    """Return what a block after the head asks of the consensus layer; its header proves it."""
    (found,), error = decode_blocks(chain.spec, [block])
    assert error is None
    with chain.snapshot() as view:
        total, ancestors = view.total_difficulty(view.number), recent_rows(view)
    parent = chain.head.number, bytes(chain.head.hash)
    executed = chain.state.try_block(found, parent, ancestors, total_difficulty=total)
    assert isinstance(executed, BuiltBlock)
    return executed.requests


def split(blocks: bytes) -> list[bytes]:
    found = []
    while blocks:
        size = 1
        if (first := blocks[0]) > 0xF7:
            size += first - 0xF7
            end = size + int.from_bytes(blocks[1:size], "big")
        else:
            end = size + first - 0xC0
        found.append(blocks[:end])
        blocks = blocks[end:]
    return found
