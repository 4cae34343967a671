"""Signing for the accounts of a development chain, with geth's words where something is wrong."""

import json
from typing import Any

import pytest

from tests.ethereum.codec.test_typed_data import MAIL
from tests.ethereum.development.playground import CREATOR, RECIPIENT, STRANGER, Playground, RefusedError
from wsnode.demo.accounts import ADDRESSES
from wsnode.jsonrpc.requests import count_values

TRANSFER = {"from": CREATOR, "to": RECIPIENT, "value": "0x1"}
PREFUNDED = {**TRANSFER, "gas": "0x5208"}


def test_the_accounts_are_those_of_every_development_chain(chain: Playground) -> None:
    assert chain("eth_accounts") == [f"0x{address}" for address in ADDRESSES]
    chain("anvil_impersonateAccount", STRANGER)
    assert chain("eth_accounts")[-1] == STRANGER


def test_a_transaction_is_completed_as_geth_does(chain: Playground) -> None:
    transaction = chain("eth_getTransactionByHash", chain.send())
    tip = int(transaction["maxPriorityFeePerGas"], 16)
    assert int(transaction["maxFeePerGas"], 16) == 2 * 10**9 + tip
    assert (transaction["type"], transaction["gas"], transaction["nonce"]) == ("0x2", "0x5208", "0x0")
    assert (transaction["from"], transaction["chainId"]) == (CREATOR, "0x7a69")


@pytest.mark.parametrize(
    ("members", "kind"),
    [
        ({"gasPrice": hex(2 * 10**9)}, "0x0"),
        ({"gasPrice": hex(2 * 10**9), "accessList": []}, "0x0"),
        ({"gasPrice": hex(2 * 10**9), "accessList": [{"address": RECIPIENT, "storageKeys": []}]}, "0x1"),
        ({"accessList": []}, "0x2"),
        ({"maxFeePerGas": hex(3 * 10**9), "maxPriorityFeePerGas": "0x1"}, "0x2"),
    ],
)
def test_its_members_say_of_which_type_it_is(members: dict[str, Any], kind: str, chain: Playground) -> None:
    sent = chain("eth_sendTransaction", TRANSFER | members)
    assert chain("eth_getTransactionByHash", sent)["type"] == kind


def test_the_first_account_sends_when_none_is_named(chain: Playground) -> None:
    sent = chain("eth_sendTransaction", {"to": RECIPIENT, "value": "0x1"})
    assert chain("eth_getTransactionByHash", sent)["from"] == CREATOR


# As anvil and geth sign with the same key.
SIGNATURE = (
    "0x87b638f4675a39ef49eb0379a7f5d248affd109cc6cb5b69457d7e8394d7d85274c8b407ca2b2b37ba4cc9c3bcfde488f7f5"
    "9748175764b928324bd31c0f93851c"
)
SIGNED = (
    "0xf8658084773594008252089470997970c51812dc3a010c7d01b50e0d17dc79c8018082f4f6a0b6a0ac32bb6e28231a02777a"
    "b4c67f09e9940a16ab17ddfa12eb6bf13277764ba0629cd63659c9068b643ab93e6600835828bb751f62b44dac453a7df1973ee"
    "b0c"
)


def test_messages_and_transactions_are_signed_as_anvil_signs_them(chain: Playground) -> None:
    assert chain("eth_sign", CREATOR, "0x1234") == SIGNATURE
    assert chain("personal_sign", "0x1234", CREATOR) == SIGNATURE
    assert chain("eth_signTransaction", PREFUNDED | {"gasPrice": "0x77359400", "nonce": "0x0"}) == SIGNED
    assert (chain.head, chain.pool) == (0, (0, 0))


@pytest.mark.parametrize(
    ("transaction", "words"),
    [
        ({"from": STRANGER, "to": RECIPIENT}, "unknown account"),
        ({"from": CREATOR}, "contract creation without any data provided"),
        ({"from": CREATOR, "data": "0xfe"}, "invalid opcode: INVALID"),
        (PREFUNDED | {"chainId": "0x5"}, "chainId does not match node's (have=5, want=31337)"),
        (
            PREFUNDED | {"gasPrice": "0x1", "maxFeePerGas": "0x1"},
            "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified",
        ),
        (
            PREFUNDED | {"maxFeePerGas": "0x1", "maxPriorityFeePerGas": "0x5"},
            "maxFeePerGas (0x1) < maxPriorityFeePerGas (0x5)",
        ),
        (PREFUNDED | {"gas": "0x1"}, "intrinsic gas too low: gas 1, minimum needed 21000"),
        (TRANSFER | {"value": "0x" + "f" * 64}, "insufficient funds for transfer"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_geths_words(
    transaction: dict[str, Any], words: str, chain: Playground
) -> None:
    with pytest.raises(RefusedError) as error:
        chain("eth_sendTransaction", transaction)
    assert (error.value.code, str(error.value)) == (-32000, words)
    assert (chain.head, chain.pool) == (0, (0, 0))


@pytest.mark.parametrize("method", ["eth_signTypedData", "eth_signTypedData_v4"])
def test_typed_data_is_signed_as_an_object_or_as_text(chain: Playground, method: str) -> None:
    # What the clients' own libraries sign with that account's key.
    signature = (
        "0x6ea8bb309a3401225701f3565e32519f94a0ea91a5910ce9229fe488e773584c"
        "0390416a2190d9560219dab757ecca2029e63fa9d1c2aebf676cc25b9f03126a1b"
    )
    assert chain(method, CREATOR, MAIL) == signature
    assert chain(method, CREATOR, json.dumps(MAIL)) == signature
    for account, told, message in (
        (STRANGER, MAIL, "unknown account"),
        (CREATOR, "{", "invalid argument 1: invalid typed data: Input data was truncated"),
        (CREATOR, {}, "invalid argument 1: invalid typed data: Object missing required field `types`"),
        (
            CREATOR,
            MAIL | {"message": {}},
            "invalid argument 1: provided data 'null' doesn't match type 'Person'",
        ),
    ):
        with pytest.raises(RefusedError) as refused:
            chain(method, account, told)
        assert str(refused.value) == message


@pytest.mark.parametrize("method", ["eth_sign", "personal_sign"])
def test_a_message_of_somebody_else_is_not_signed(method: str, chain: Playground) -> None:
    params = [STRANGER, "0x12"] if method == "eth_sign" else ["0x12", STRANGER]
    with pytest.raises(RefusedError, match="unknown account"):
        chain(method, *params)


def test_transactions_of_one_moment_have_one_nonce_after_the_other(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    sent = [chain.send() for _ in range(20)]
    nonces = [int(chain("eth_getTransactionByHash", each)["nonce"], 16) for each in sent]
    assert nonces == list(range(20))


def test_accounts_are_requested_as_wallets_do(chain: Playground) -> None:
    chain("anvil_impersonateAccount", STRANGER)
    assert chain("eth_requestAccounts") == chain("eth_accounts")


def test_a_transaction_is_sent_and_waited_for(chain: Playground) -> None:
    receipt = chain("eth_sendTransactionSync", TRANSFER)
    assert receipt == chain.receipt(receipt["transactionHash"])
    assert (receipt["blockNumber"], receipt["from"]) == ("0x1", CREATOR)
    for refused in ({**TRANSFER, "from": STRANGER}, {**TRANSFER, "value": hex(10**30)}):
        with pytest.raises(RefusedError):
            chain("eth_sendTransactionSync", refused)
    assert chain.head == 1


def test_a_transaction_that_gets_no_block_is_not_waited_for_without_end(chain: Playground) -> None:
    chain("evm_setAutomine", False)
    with pytest.raises(RefusedError, match="wasn't processed in 1ms") as refused:
        chain("eth_sendTransactionSync", TRANSFER, 1)
    assert refused.value.code == 4
    assert chain.pool == (1, 0)


def test_an_account_is_told_at_once(chain: Playground) -> None:
    chain("anvil_setCode", STRANGER, "0x00")
    chain.send(to=STRANGER, value="0x5")
    assert chain("eth_getAccountInfo", STRANGER, "latest") == {
        "balance": "0x5",
        "nonce": "0x0",
        "code": "0x00",
    }
    creator = chain("eth_getAccountInfo", CREATOR)
    assert (int(creator["balance"], 16), creator["nonce"]) == (chain.balance(CREATOR), "0x1")
    assert chain("eth_getAccountInfo", CREATOR, "0x0") == {
        "balance": hex(10**22),
        "nonce": "0x0",
        "code": "0x",
    }
    nobody = {"balance": "0x0", "nonce": "0x0", "code": "0x"}
    assert chain("eth_getAccountInfo", "0x" + "ee" * 20, "pending") == nobody
    with pytest.raises(RefusedError, match="header not found"):
        chain("eth_getAccountInfo", CREATOR, "0x99")


def test_typed_data_is_signed_by_every_version_of_the_method(chain: Playground) -> None:
    signature = chain("eth_signTypedData_v4", CREATOR, MAIL)
    assert chain("eth_signTypedData_v3", CREATOR, MAIL) == signature
    assert chain("eth_signTypedData_v3", CREATOR, json.dumps(MAIL)) == signature


def test_version_3_has_no_arrays(chain: Playground) -> None:
    told = {
        "types": {
            "EIP712Domain": [{"name": "name", "type": "string"}],
            "Mail": [{"name": "ids", "type": "uint8[]"}],
        },
        "primaryType": "Mail",
        "domain": {"name": "post"},
        "message": {"ids": [1]},
    }
    assert chain("eth_signTypedData_v4", CREATOR, told)
    with pytest.raises(RefusedError, match='arrays as "ids" are signed by eth_signTypedData_v4') as refused:
        chain("eth_signTypedData_v3", CREATOR, told)
    assert refused.value.code == -32602


def numbers(count: int) -> dict[str, Any]:
    """Return typed data with a list of `count` numbers."""
    types = {"Mail": [{"name": "ids", "type": "uint8[]"}]}
    return {"types": types, "primaryType": "Mail", "domain": {}, "message": {"ids": [1] * count}}


def test_typed_data_is_counted_before_it_is_read_and_hashed_in_a_thread_if_it_is_long(
    chain: Playground,
) -> None:
    for told in (numbers(19_000), json.dumps(numbers(19_000))):
        assert len(chain("eth_signTypedData_v4", CREATOR, told)) == 132
    with pytest.raises(RefusedError, match="integer larger than 'uint8'"):
        chain("eth_signTypedData_v4", CREATOR, numbers(19_000) | {"message": {"ids": [1] * 19_000 + [256]}})


def test_typed_data_may_have_so_many_values_and_not_one_more(chain: Playground) -> None:
    fixed = count_values(json.dumps(numbers(1)).encode()) - 1
    most, too_many = numbers(20_000 - fixed), numbers(20_001 - fixed)
    for told in (most, json.dumps(most)):
        assert len(chain("eth_signTypedData_v4", CREATOR, told)) == 132
    for told in (too_many, json.dumps(too_many)):
        for version in ("_v3", "_v4"):
            with pytest.raises(
                RefusedError, match="too many values in typed data: 20001, want at most 20000"
            ) as refused:
                chain("eth_signTypedData" + version, CREATOR, told)
            assert refused.value.code == -32602
