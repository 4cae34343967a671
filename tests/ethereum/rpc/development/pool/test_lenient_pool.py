"""Transactions that a development chain's pool takes, and no public one's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.ethereum.development.playground import (
    CREATOR,
    RECIPIENT,
    STRANGER,
    Playground,
    RefusedError,
    playground,
)
from tests.ethereum.pool.steps import delegating, plain, with_blobs
from tests.memory_transport import asking
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import CREATE2_DEPLOYER, development_genesis
from wsnode.demo.run import begin
from wsnode.ethereum.codec.rlp import encode, number
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, NetworkConfig

ALICE, BOB = ACCOUNTS[:2]
GWEI = 10**9
FACTORY = bytes.fromhex(
    f"7f{'ff' * 31}e03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3"
)
KEYLESS_SENDER = "0x3fab184622dc19b6109349b94811493bf2a45362"
KEYLESS = encode(
    [
        *(number(member) for member in (0, 100 * GWEI, 100_000)),
        *(b"", b"", bytes.fromhex("604580600e600039806000f350fe") + FACTORY),
        *(number(27), b"\x22" * 32, b"\x22" * 32),
    ]
)
"""The usual CREATE2 factory's deployment: signed by nobody, for every chain."""
DELEGATION = "0xef0100" + "00" * 19 + "04"


def send_all(chain: Playground, *signed: bytes) -> list[str]:
    return [chain("eth_sendRawTransaction", f"0x{each.hex()}") for each in signed]


def mined(chain: Playground, sent: Sequence[str]) -> list[str]:
    """Return the status of each transaction, all of which are in the next block."""
    chain("evm_mine")
    assert set(chain.block()["transactions"]) == set(sent)
    return [receipt["status"] for receipt in map(chain.receipt, sent) if receipt is not None]


def test_what_nobody_signed_is_deployed(tmp_path: Path) -> None:
    begin(tmp_path, development_genesis([], 0, 1_750_000_000, has_create2_deployer=False))
    with playground(tmp_path) as chain:
        chain("anvil_setBalance", KEYLESS_SENDER, hex(10**16))
        receipt = chain.receipt(*send_all(chain, KEYLESS))
        assert receipt is not None
        assert (receipt["status"], receipt["from"]) == ("0x1", KEYLESS_SENDER)
        assert receipt["contractAddress"] == CREATE2_DEPLOYER
        assert chain("eth_getCode", CREATE2_DEPLOYER, "latest") == f"0x{FACTORY.hex()}"


def test_a_transaction_for_every_chain_is_taken(chain: Playground) -> None:
    (sent,) = send_all(chain, plain(ALICE, 0, chainId=None, gasPrice=2 * GWEI))
    assert chain.receipt(sent) is not None
    again = chain("eth_sendRawTransactionSync", f"0x{plain(BOB, 0, chainId=None, gasPrice=2 * GWEI).hex()}")
    assert again["status"] == "0x1"


@pytest.mark.parametrize("members", [{}, {"gasPrice": 2 * GWEI}])
def test_a_transaction_for_another_chain_is_not(members: dict[str, int], chain: Playground) -> None:
    with pytest.raises(RefusedError, match="invalid chain id for signer: have 5 want 31337"):
        send_all(chain, plain(ALICE, 0, chainId=5, **members))


@pytest.mark.parametrize("allows", [False, True])
def test_other_chains_take_it_if_their_operator_says_so(*, allows: bool, tmp_path: Path) -> None:
    begin(tmp_path, development_genesis([ALICE.address], 10**22, 1_750_000_000))
    told = NetworkConfig(str(tmp_path), allow_unprotected=allows)
    with open_network("own", told, Config(networks={"own": told}, open=True)) as network:
        ask = asking(Dispatcher(network.registry, network.open_view))
        signed = plain(ALICE, 0, chainId=None, gasPrice=2 * GWEI)
        reply = ask("eth_sendRawTransaction", f"0x{signed.hex()}")
    if allows:
        assert len(reply["result"]) == 66
    else:
        words = "only replay-protected (EIP-155) transactions allowed over RPC"
        assert reply["error"] == {"code": -32000, "message": words}


def test_a_delegated_account_has_many_transactions_in_flight(chain: Playground) -> None:
    chain("anvil_setCode", CREATOR, DELEGATION)
    chain("evm_setAutomine", False)
    later = send_all(chain, plain(ALICE, 2))
    assert chain.pool == (0, 1)
    sent = [chain.send(), chain.send(), *later, *send_all(chain, plain(ALICE, 3))]
    assert chain.pool == (4, 0)
    assert mined(chain, sent) == ["0x1"] * 4


def test_an_account_with_transactions_in_flight_can_be_delegated(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    sent = send_all(chain, plain(BOB, 0), plain(BOB, 1), delegating(ALICE, 0, (BOB, 2)), plain(BOB, 2))
    assert chain.pool == (4, 0)
    chain("evm_mine")
    # Whichever comes first takes the nonce that both of the last need.
    statuses = [receipt["status"] for receipt in map(chain.receipt, sent) if receipt is not None]
    assert statuses[:3] == ["0x1"] * 3
    assert chain.nonce(RECIPIENT) == 3


def test_blobs_block_no_other_transactions_of_their_account(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    signed = [with_blobs(ALICE, 0), plain(ALICE, 1), with_blobs(ALICE, 2), plain(ALICE, 3)]
    signed += [plain(BOB, 0), with_blobs(BOB, 1)]
    sent = send_all(chain, *signed)
    assert chain.pool == (6, 0)
    assert mined(chain, sent) == ["0x1"] * 6


def test_a_replacement_may_be_of_another_kind(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    send_all(chain, with_blobs(ALICE, 0))
    fees: dict[str, Any] = {"maxFeePerGas": 100 * GWEI, "maxPriorityFeePerGas": 10 * GWEI}
    sent = send_all(chain, plain(ALICE, 0, **fees))
    assert mined(chain, sent) == ["0x1"]


def test_a_fee_above_an_ether_is_no_mistake(chain: Playground) -> None:
    sent = chain.send(gas=hex(10**6), gasPrice=hex(10**13))
    assert chain.receipt(sent) is not None
    assert chain.receipt(*send_all(chain, plain(BOB, 0, gas=10**6, gasPrice=10**13))) is not None
    assert chain.balance(STRANGER) == 0
