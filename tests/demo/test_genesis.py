"""How development chains begin."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import import_blocks
from tests.ethereum.development.playground import CREATOR, GENESIS_TIME, Playground, playground
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import (
    CREATE2_DEPLOYER,
    FORKS,
    ForkSource,
    demo_genesis,
    development_genesis,
    with_block,
)
from wsnode.demo.run import begin, build_ethereum
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.live.branches import canonical_rows
from wsnode.ethereum.storage.errors import OtherGenesisError
from wsnode.node.config import ConfigurationError

GWEI = 10**9
LATE_FORKS = [fork for fork in FORKS[FORKS.index("constantinople") :] if fork != "petersburg"]
CREATES_AN_ACCOUNT = bytes.fromhex("6001600c60003960016000f300")
"""Creates an account with one byte of code, which is zero."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def begun(folder: Path, **options: Any) -> Iterator[Playground]:
    begin(folder, development_genesis([ACCOUNTS[0].address], 10**22, GENESIS_TIME, **options))
    with playground(folder) as chain:
        yield chain


@pytest.mark.parametrize("fork", LATE_FORKS)
def test_the_create2_deployer_is_there_and_deploys(fork: str, folder: Path) -> None:
    for chain in begun(folder, fork=fork):
        code = chain("eth_getCode", CREATE2_DEPLOYER, "0x0")
        for salt in (bytes(32), b"\x07" * 32):
            called = f"0x{(salt + CREATES_AN_ACCOUNT).hex()}"
            sent = chain.send(to=CREATE2_DEPLOYER, data=called, gas="0x80000", gasPrice=hex(2 * GWEI))
            receipt = chain.receipt(sent)
            assert receipt is not None
            place = keccak256(
                b"\xff" + bytes.fromhex(CREATE2_DEPLOYER[2:]) + salt + keccak256(CREATES_AN_ACCOUNT)
            )
            assert chain("eth_getCode", f"0x{place[12:].hex()}", "latest") == "0x00"
            # Also after a reset, which takes what was deployed away.
            chain("anvil_setCode", CREATE2_DEPLOYER, "0x")
            chain("anvil_reset")
            assert chain("eth_getCode", CREATE2_DEPLOYER, "latest") == code
            assert chain("eth_getCode", f"0x{place[12:].hex()}", "latest") == "0x"


@pytest.mark.parametrize("fork", ["tangerine", "cancun", "osaka"])
def test_it_is_missing_if_that_is_wanted(fork: str, folder: Path) -> None:
    for chain in begun(folder, fork=fork, has_create2_deployer=False):
        assert chain("eth_getCode", CREATE2_DEPLOYER, "latest") == "0x"


def test_the_demo_has_it_too(folder: Path) -> None:
    build_ethereum(folder)
    with playground(folder) as chain:
        assert len(chain("eth_getCode", CREATE2_DEPLOYER, "0x0")) == 2 + 2 * 69


def test_a_demo_that_an_earlier_version_began_goes_on(folder: Path) -> None:
    earlier = demo_genesis().replace(CREATE2_DEPLOYER.encode(), b"0x" + b"12" * 20)
    begin(folder, earlier)
    build_ethereum(folder)
    with playground(folder) as chain:
        assert (chain.head, chain("eth_getCode", CREATE2_DEPLOYER, "latest")) == (42, "0x")


def test_no_demo_is_made_in_another_chains_folder(folder: Path) -> None:
    begin(folder, development_genesis([ACCOUNTS[0].address], 1, GENESIS_TIME))
    with pytest.raises(OtherGenesisError):
        build_ethereum(folder)


@pytest.mark.parametrize("gas_limit", [5_000, 30_000_001, 60_000_000, 2**63 - 1])
@pytest.mark.parametrize("base_fee", [None, 0, 7, 10**18])
def test_the_first_block_has_the_base_fee_of_the_genesis(
    base_fee: int | None, gas_limit: int, folder: Path
) -> None:
    for chain in begun(folder, base_fee=base_fee, gas_limit=gas_limit):
        expected = hex(GWEI if base_fee is None else base_fee)
        for _ in range(2):
            chain("evm_mine")
            assert [chain.block(number)["baseFeePerGas"] for number in (0, 1)] == [expected] * 2
            chain("anvil_reset")


def test_a_node_that_keeps_every_rule_takes_the_first_block(folder: Path) -> None:
    for chain in begun(folder):
        chain.send(CREATOR)
    blocks = folder / "chain.rlp"
    with Chain.open(folder / "eth", writer=False) as stored, stored.snapshot() as view:
        header, body, _ = canonical_rows(view, 1)
        blocks.write_bytes(block_rlp(header, body))
        genesis = stored.folder.read_genesis()
    with Chain.open(folder / "other", genesis, writer=True, durable=False) as other:
        import_blocks(other, blocks)
        assert other.head.number == 1


@pytest.mark.parametrize(
    ("url", "address", "block"),
    [
        ("http://node/KEY@12", "http://node/KEY", 12),
        ("wss://node:8546@12", "wss://node:8546", 12),
        ("http://user:word@node/@12", "http://user:word@node/", 12),
        ("http://node/KEY@latest", "http://node/KEY", None),
        ("http://user:word@node", "http://user:word@node", None),
        ("http://user:word@10.0.0.1:8545", "http://user:word@10.0.0.1:8545", None),
        ("http://node/KEY", "http://node/KEY", None),
    ],
)
def test_a_fork_names_its_block_behind_the_url(url: str, address: str, block: int | None) -> None:
    assert with_block(ForkSource([url])) == ForkSource((address,), block)


def test_a_fork_is_of_one_block() -> None:
    urls = ["http://one@12", "http://two@12", "http://three"]
    assert with_block(ForkSource(urls, 12)) == ForkSource(("http://one", "http://two", "http://three"), 12)
    with pytest.raises(ConfigurationError, match="not on 12 and 13"):
        with_block(ForkSource(urls, 13))
    for block in (0, 1 << 63):
        with pytest.raises(ConfigurationError, match=f"not on {block}"):
            with_block(ForkSource([f"http://one@{block}"]))
