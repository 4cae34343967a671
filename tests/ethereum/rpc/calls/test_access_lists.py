from tests.memory_transport import Ask

SENDER = "0x0c2c51a0990aee1d73c1228de158688341557508"
TARGET = "0x" + "13" * 20
FIRST_SLOT = "0x" + "00" * 32
SECOND_SLOT = "0x" + "01".rjust(64, "0")


def test_accounts_and_slots_that_a_call_touches_are_listed(ask: Ask) -> None:
    code = "0x73" + "bb" * 20 + "315f545f5500"
    reply = ask("eth_createAccessList", {"from": SENDER, "to": TARGET}, "latest", {TARGET: {"code": code}})
    assert reply["result"]["accessList"] == [
        {"address": TARGET, "storageKeys": [FIRST_SLOT]},
        {"address": "0x" + "bb" * 20, "storageKeys": []},
    ]
    assert "error" not in reply["result"]


def test_a_list_that_is_given_is_kept_but_for_the_receiver(ask: Ask) -> None:
    other = {"address": "0x" + "bb" * 20, "storageKeys": [SECOND_SLOT]}
    given = [{"address": TARGET, "storageKeys": [SECOND_SLOT]}, other]
    code = {TARGET: {"code": "0x5f5400"}}
    reply = ask("eth_createAccessList", {"to": TARGET, "accessList": given}, "latest", code)
    assert reply["result"]["accessList"] == [{"address": TARGET, "storageKeys": [FIRST_SLOT]}, other]
    # An account in a list costs 2,400 and a slot 1,900; reading a listed slot 100.
    assert reply["result"]["gasUsed"] == hex(21_000 + 2 * (2_400 + 1_900) + 2 + 100)


def test_a_call_that_fails_has_a_list_and_a_reason(ask: Ask) -> None:
    call = {"from": SENDER, "data": "0x60015f55fe", "gas": "0xfffff"}
    # What geth says.
    assert ask("eth_createAccessList", call) == {
        "result": {
            "accessList": [
                {"address": "0x8a700907005c5c3b442322abfb6bec88772ebd11", "storageKeys": [FIRST_SLOT]}
            ],
            "error": "invalid opcode: INVALID",
            "gasUsed": "0xfffff",
        }
    }


def test_a_call_that_cannot_begin_is_named_by_its_hash(ask: Ask) -> None:
    # What geth says.
    reply = ask("eth_createAccessList", {"data": "0x60015f55fe", "gas": "0x5000"})
    assert reply["error"] == {
        "code": -32000,
        "message": "failed to apply transaction: "
        "0xc62cdf1ecc3e9d45ff8e9a7197cd9f2f7b501f121cd8779cded835407597d663 "
        "err: intrinsic gas too low: have 20480, want 53082",
    }


def test_before_berlin_there_are_no_access_lists(ask: Ask) -> None:
    message = ask("eth_createAccessList", {"to": TARGET}, "0x2")["error"]["message"]
    assert message.endswith(f"transaction type not supported: access list tx (sender 0x{'00' * 20})")


def test_fees_that_make_no_transaction_are_refused(ask: Ask) -> None:
    for fees, message in (
        ({"gasPrice": "0x0"}, "gasPrice must be non-zero after london fork"),
        ({"maxFeePerGas": "0x0", "maxPriorityFeePerGas": "0x1"}, "maxFeePerGas must be non-zero"),
        ({"maxFeePerBlobGas": "0x0"}, "maxFeePerBlobGas, if specified, must be non-zero"),
    ):
        reply = ask("eth_createAccessList", {"to": TARGET, **fees})
        assert reply == {"error": {"code": -32000, "message": message}}
