"""Fees as the fee methods and the pool compute them against those of blocks that the engine holds valid."""

import gzip
from itertools import pairwise

import pytest

from tests.conftest import encoded_blocks
from tests.vector_files import require_vectors
from wsnode.ethereum.base_fees import blob_base_fee, next_base_fee, next_blob_base_fee
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.state import ChainSpec

BLOB_BASE_FEE_LENGTH = 37
"""Where a header row says how long the engine's own blob base fee is, which follows."""

Chain = tuple[ChainSpec, list[bytes]]


@pytest.fixture(scope="module", params=["execution-apis", "bench/small"])
def chain(request: pytest.FixtureRequest) -> Chain:
    """Return a chain's forks, and its header rows from genesis on."""
    vectors = require_vectors(request.param)
    packed = vectors / "chain.rlp.gz"
    encoded = (
        gzip.decompress(packed.read_bytes()) if packed.exists() else (vectors / "chain.rlp").read_bytes()
    )
    spec = ChainSpec((vectors / "genesis.json").read_bytes())
    blocks, error = decode_blocks(spec, list(encoded_blocks(encoded)))
    assert error is None
    return spec, [spec.genesis_block().header, *(block.header for block in blocks)]


def engine_blob_base_fee(row: bytes) -> int | None:
    length, begin = row[BLOB_BASE_FEE_LENGTH], BLOB_BASE_FEE_LENGTH + 1
    return int.from_bytes(row[begin : begin + length]) if length else None


def follows_equal_rules(spec: ChainSpec, parent: Header, child: Header) -> bool:
    return spec.blob_parameters(parent.timestamp) == spec.blob_parameters(child.timestamp) and (
        spec.fork_name(parent.number, parent.timestamp) == spec.fork_name(child.number, child.timestamp)
    )


def test_the_next_base_fee_is_the_next_blocks(chain: Chain) -> None:
    spec, rows = chain
    headers = list(map(header_fields, rows))
    assert [next_base_fee(spec, parent) for parent in headers[:-1]] == [each.base_fee for each in headers[1:]]


def test_the_blob_base_fee_is_the_engines(chain: Chain) -> None:
    spec, rows = chain
    assert [blob_base_fee(spec, header_fields(row)) for row in rows] == list(map(engine_blob_base_fee, rows))


def test_the_next_blob_base_fee_is_the_next_blocks_under_equal_rules(chain: Chain) -> None:
    spec, rows = chain
    compared = 0
    for row, following in pairwise(rows):
        parent, child = header_fields(row), header_fields(following)
        if follows_equal_rules(spec, parent, child):
            assert next_blob_base_fee(spec, parent) == engine_blob_base_fee(following)
            compared += engine_blob_base_fee(following) is not None
    assert compared
