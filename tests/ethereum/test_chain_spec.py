"""Fees that follow from a block's parent, against headers of other clients' chains and their test tables."""

import gzip
import json
from itertools import pairwise
from typing import Any

import pytest

from tests.conftest import encoded_blocks
from tests.vector_files import require_vectors
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rows import Header, header_fields
from wsnode.ethereum.state import GAS_PER_BLOB, ChainSpec, InvalidGenesisError, call_gas_cap

CANCUN = {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477}
PRAGUE = {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716}
BLOCK_FORKS = (
    "homesteadBlock",
    "eip150Block",
    "eip155Block",
    "eip158Block",
    "byzantiumBlock",
    "constantinopleBlock",
    "petersburgBlock",
    "istanbulBlock",
    "berlinBlock",
    "londonBlock",
)
STEEP = 1 << 17
"""An update fraction with which the price of blob gas grows by half and more with every blob of excess."""
MAX_PRICE = 2**128 - 1

Chain = tuple[ChainSpec, list[Header]]


@pytest.fixture(scope="module", params=["execution-apis", "bench/small"])
def chain(request: pytest.FixtureRequest) -> Chain:
    """Return a chain's rules, and its headers from genesis on."""
    vectors = require_vectors(request.param)
    packed = vectors / "chain.rlp.gz"
    encoded = (
        gzip.decompress(packed.read_bytes()) if packed.exists() else (vectors / "chain.rlp").read_bytes()
    )
    spec = ChainSpec((vectors / "genesis.json").read_bytes())
    blocks, error = decode_blocks(spec, list(encoded_blocks(encoded)))
    assert error is None
    rows = [spec.genesis_block().header, *(block.header for block in blocks)]
    return spec, list(map(header_fields, rows))


def follows_equal_rules(spec: ChainSpec, parent: Header, child: Header) -> bool:
    return spec.blob_parameters(parent.timestamp) == spec.blob_parameters(child.timestamp) and (
        spec.fork_name(parent.number, parent.timestamp) == spec.fork_name(child.number, child.timestamp)
    )


def head_of(blobs: dict[str, int], *, osaka: bool = False, **members: int) -> tuple[ChainSpec, Header]:
    """Return a chain with these blob parameters, and its genesis block with these members."""
    times = ("shanghaiTime", "cancunTime", "pragueTime", *(("osakaTime",) if osaka else ()))
    config: dict[str, Any] = {
        "chainId": 1,
        "terminalTotalDifficulty": 0,
        **dict.fromkeys((*BLOCK_FORKS, *times), 0),
        "blobSchedule": dict.fromkeys(("cancun", "prague", "osaka"), blobs),
    }
    genesis = {
        name: hex(value) for name, value in ({"gasLimit": 20_000_000, "difficulty": 0} | members).items()
    }
    spec = ChainSpec(json.dumps({"config": config, "alloc": {}, **genesis}).encode())
    return spec, header_fields(spec.genesis_block().header)


def test_the_next_base_fee_is_the_next_blocks(chain: Chain) -> None:
    spec, headers = chain
    found = list(map(spec.next_base_fee, headers[:-1]))
    assert found == [header.base_fee for header in headers[1:]]
    assert any(fee is not None for fee in found)


def test_the_next_blob_base_fee_is_the_next_blocks_under_equal_rules(chain: Chain) -> None:
    spec, headers = chain
    compared = 0
    for parent, child in pairwise(headers):
        if follows_equal_rules(spec, parent, child):
            assert spec.next_blob_base_fee(parent) == child.blob_base_fee
            compared += child.blob_base_fee is not None
    assert compared


def test_headers_have_a_price_of_blob_gas_where_they_have_blobs(chain: Chain) -> None:
    _spec, headers = chain
    assert [header.blob_base_fee is None for header in headers] == [
        header.excess_blob_gas is None for header in headers
    ]


# go-ethereum, consensus/misc/eip4844: TestCalcBlobFee, and prices beyond 64 and 128 bits.
@pytest.mark.parametrize(
    ("blobs", "excess", "price"),
    [
        (CANCUN, 0, 1),
        (CANCUN, 2314057, 1),
        (CANCUN, 2314058, 2),
        (CANCUN, 10 * 1024 * 1024, 23),
        (CANCUN, 148099578, 18446739238971471609),
        (CANCUN, 148099579, 18446744762204311910),
        (CANCUN, 161087488, 902580055246494526580),
        (PRAGUE, 299453931, 93359993185840258978230108),
        (PRAGUE, 2**64 - 1, MAX_PRICE),
    ],
)
def test_the_price_of_blob_gas_follows_from_the_excess(
    blobs: dict[str, int], excess: int, price: int
) -> None:
    _spec, head = head_of(blobs, excessBlobGas=excess)
    assert head.blob_base_fee == price


# go-ethereum, consensus/misc/eip4844: TestCalcExcessBlobGas; the target is 3 blobs.
@pytest.mark.parametrize(
    ("excess", "blobs", "following"),
    [
        (0, 0, 0),
        (0, 1, 0),
        (0, 3, 0),
        (0, 4, GAS_PER_BLOB),
        (1, 4, GAS_PER_BLOB + 1),
        (1, 5, 2 * GAS_PER_BLOB + 1),
        (3 * GAS_PER_BLOB, 3, 3 * GAS_PER_BLOB),
        (3 * GAS_PER_BLOB, 2, 2 * GAS_PER_BLOB),
        (3 * GAS_PER_BLOB, 1, GAS_PER_BLOB),
        (GAS_PER_BLOB - 1, 2, 0),
    ],
)
def test_the_next_price_of_blob_gas_follows_from_what_was_used(
    excess: int, blobs: int, following: int
) -> None:
    steep = CANCUN | {"baseFeeUpdateFraction": STEEP}
    spec, parent = head_of(steep, excessBlobGas=excess, blobGasUsed=blobs * GAS_PER_BLOB)
    assert spec.next_blob_base_fee(parent) == head_of(steep, excessBlobGas=following)[1].blob_base_fee


# go-ethereum, consensus/misc/eip4844: TestCalcExcessBlobGasEIP7918.
@pytest.mark.parametrize(("base_fee", "following"), [(10**9, 2 * GAS_PER_BLOB), (1, 0)])
def test_since_osaka_blobs_cost_no_less_than_the_gas_that_they_save(base_fee: int, following: int) -> None:
    steep = PRAGUE | {"baseFeeUpdateFraction": STEEP}
    members = {"blobGasUsed": 6 * GAS_PER_BLOB, "baseFeePerGas": base_fee}
    spec, parent = head_of(steep, osaka=True, excessBlobGas=0, **members)
    assert spec.next_blob_base_fee(parent) == head_of(steep, excessBlobGas=following)[1].blob_base_fee


def test_before_blobs_there_is_no_blob_gas_and_no_price() -> None:
    spec = ChainSpec(b'{"config": {"chainId": 1}, "gasLimit": "0x1", "difficulty": "0x1", "alloc": {}}')
    head = header_fields(spec.genesis_block().header)
    assert (spec.blob_gas_limit(0), head.blob_base_fee, spec.next_blob_base_fee(head)) == (0, None, None)
    assert spec.next_base_fee(head) is None


def test_the_blob_gas_of_a_block_is_that_of_all_the_blobs_that_it_may_have() -> None:
    spec, _head = head_of(CANCUN)
    assert spec.blob_gas_limit(0) == 6 * 131072


def test_a_call_may_have_the_gas_of_some_blocks_as_far_as_the_evm_counts() -> None:
    assert call_gas_cap(30_000_000, 10) == 300_000_000
    assert call_gas_cap(2**63 - 1, 10) == call_gas_cap(2**64 - 1, 2**31 - 1) == 2**63 - 1


@pytest.mark.parametrize(
    ("member", "value", "named"),
    [
        (
            "bogotaTime",
            1_800_000_000,
            "config.bogotaTime names a fork that this version does not know: the rules"
            " would be others from time 1800000000 on.",
        ),
        (
            "nextBlock",
            "0x10",
            "config.nextBlock names a fork that this version does not know: the rules would be"
            " others from block 16 on.",
        ),
        (
            "bogotaTime",
            [],
            "config.bogotaTime names a fork that this version does not know: the rules would be others.",
        ),
        (
            "blobSchedule",
            {"bogota": CANCUN},
            "blobSchedule.bogota names a fork that this version does not know",
        ),
    ],
)
def test_what_names_a_fork_that_is_not_known_is_refused_by_its_place(
    member: str, value: object, named: str
) -> None:
    config = {"chainId": 1, "terminalTotalDifficulty": 0, **dict.fromkeys(BLOCK_FORKS, 0), member: value}
    genesis = {"config": config, "alloc": {}, "gasLimit": "0x1000000", "difficulty": "0x0"}
    with pytest.raises(InvalidGenesisError) as refused:
        ChainSpec(json.dumps(genesis).encode())
    assert str(refused.value).startswith(f"genesis: {named}")
    assert str(refused.value).endswith(
        "Use a newer version of wsnode, or delete it if the chain has no block of that fork"
    )
