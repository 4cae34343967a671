"""Development chains beside anvil: what its methods return and lead to is the same on both."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER
from tests.ethereum.rpc.development.test_mining_detailed import RETURNS_42, REVERTS
from tests.ethereum.rpc.development.test_tokens import CODES, TOKEN, padded
from tests.peers.anvil_pair import Pair, beside_anvil

pytestmark = pytest.mark.slow

CHAIN_ID = {STRANGER: {"code": "0x465f5260205ff3"}}
# anvil looks only at the token's own slots, and takes the first that fits.
OF_BOTH = ("Guarded", "Namespaced", "Reversed", "Packed")


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    with beside_anvil(tmp_path) as opened:
        yield opened


def send(pair: Pair, **members: Any) -> None:
    pair.both("eth_sendTransaction", {"from": CREATOR, "gas": "0x20000", **members})


def test_mined_blocks_tell_what_transactions_returned(pair: Pair) -> None:
    pair.equal("evm_setAutomine", False)
    codes = {STRANGER: REVERTS, "0x" + "42" * 20: RETURNS_42, "0x" + "fe" * 20: "0xfe"}
    for address, code in codes.items():
        pair.equal("anvil_setCode", address, code)
    send(pair, to=RECIPIENT, value="0x1")
    for address in codes:
        send(pair, to=address)
    send(pair, data=RETURNS_42)
    blocks = pair.both("evm_mine_detailed")
    ours, theirs = (
        [(each.get("output"), each.get("revertReason"), each["input"]) for each in block["transactions"]]
        for (block,) in blocks
    )
    assert ours == theirs
    assert [reason for _, reason, _ in ours] == [None, "boom", None, None, None]
    # All members of the block are there on both.
    assert blocks[0][0].keys() | {"totalDifficulty"} == blocks[1][0].keys()


def ids(pair: Pair) -> list[Any]:
    asked = [pair.equal(method) for method in ("eth_chainId", "net_version")]
    asked += [pair.equal("eth_call", {"to": STRANGER}, block, CHAIN_ID) for block in ("0x0", "latest")]
    metadata, settings = pair.both("anvil_metadata"), pair.both("anvil_nodeInfo")
    told = {each["chainId"] for each in metadata} | {each["environment"]["chainId"] for each in settings}
    return [*asked, told]


def test_another_chain_id_is_everywhere_and_stays(pair: Pair) -> None:
    first = ids(pair)
    pair.equal("evm_setAutomine", False)
    send(pair, to=RECIPIENT)
    assert pair.equal("anvil_setChainId", 5) is None
    assert ids(pair) != first
    # No block could include transactions that were signed for the other chain.
    pair.equal("evm_mine")
    assert pair.equal("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    assert pair.equal("eth_getBlockTransactionCountByNumber", "latest") == "0x0"
    pair.both("evm_snapshot")
    pair.both("anvil_setChainId", 6)
    told = ids(pair)
    assert told[0] == "0x6"
    for method, *arguments in (("evm_revert", "0x0"), ("anvil_reset",)):
        pair.both(method, *arguments)
        assert ids(pair) == told


@pytest.mark.parametrize("name", OF_BOTH)
def test_tokens_are_dealt_into_the_slot_that_anvil_finds(pair: Pair, name: str) -> None:
    pair.equal("anvil_setCode", TOKEN, CODES[name])
    for amount in (1234, 1, 10**20):
        assert pair.equal("anvil_dealERC20", STRANGER, TOKEN, hex(amount)) is None
        assert pair.equal("anvil_setERC20Allowance", STRANGER, CREATOR, TOKEN, hex(amount + 1)) is None
        for data, expected in (
            ("0x70a08231" + padded(STRANGER), amount),
            ("0xdd62ed3e" + padded(STRANGER, CREATOR), amount + 1),
        ):
            assert int(pair.equal("eth_call", {"to": TOKEN, "data": data}, "latest"), 16) == expected


def test_accounts_are_told_and_transactions_waited_for_alike(pair: Pair) -> None:
    assert pair.equal("eth_requestAccounts") == pair.equal("eth_accounts")
    pair.equal("anvil_setCode", STRANGER, "0x6001")
    pair.equal("anvil_setBalance", STRANGER, "0x5")
    for address in (STRANGER, RECIPIENT):
        pair.equal("eth_getAccountInfo", address, "latest")
    ours, theirs = pair.both(
        "eth_sendTransactionSync",
        {"from": CREATOR, "to": RECIPIENT, "value": "0x1", "gasPrice": hex(2 * 10**9)},
    )
    names = ("transactionHash", "status", "from", "to", "gasUsed", "logs", "transactionIndex", "type")
    assert [ours[name] for name in names] == [theirs[name] for name in names]


@pytest.mark.parametrize("method", ["anvil_setLoggingEnabled", "anvil_setChainId"])
def test_methods_of_anvils_name_return_nothing(pair: Pair, method: str) -> None:
    assert pair.equal(method, {"anvil_setChainId": 7}.get(method, False)) is None
