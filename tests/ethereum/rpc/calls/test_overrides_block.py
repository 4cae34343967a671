"""Members of blocks in place of others, as calls, estimates, traces and simulations see them.

Expected values are geth 1.17.10's on the same chain; tests/peers/test_block_overrides.py asks it.
"""

from typing import Any, Final

import pytest

from tests.memory_transport import Ask

TARGET: Final = "0x" + "13" * 20
SENDER: Final = "0x" + "c0" * 20
HEAD: Final = 0x36
FEES: Final = {"maxFeePerGas": "0x77359400", "maxPriorityFeePerGas": "0x2", "gas": "0x186a0"}
SEEN: Final = {
    "coinbase": "41",
    "timestamp": "42",
    "number": "43",
    "prevrandao": "44",
    "gaslimit": "45",
    "basefee": "48",
    "blobbasefee": "4a",
    "gasprice": "3a",
    "hash of the head": f"60{HEAD:02x}40",
    "hash of the parent": f"60{HEAD - 1:02x}40",
}
"""Code that puts a member on the stack."""
HEAD_HASH: Final = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"
PARENT_HASH: Final = "0x1c40cb1eae4d15a808b06f18145f4585fd6d45244b332853bd695e62e6990454"


def probe(end: str) -> str:
    """Return code that returns (`f3`), or reverts with (`fd`), all members that it sees."""
    stored = "".join(f"{code}61{32 * place:04x}52" for place, code in enumerate(SEEN.values()))
    return f"0x{stored}61{32 * len(SEEN):04x}6000{end}"


def state(end: str) -> dict[str, Any]:
    return {SENDER: {"balance": "0xffffffffffffffffffff"}, TARGET: {"code": probe(end)}}


def members(output: str) -> dict[str, str]:
    """Return what the probe saw, by name."""
    words = [output[2 + 64 * place : 66 + 64 * place] for place in range(len(SEEN))]
    return {name: hex(int(word, 16)) for name, word in zip(SEEN, words, strict=True)}


def seen_by(ask: Ask, method: str, overrides: dict[str, Any], **fees: str) -> dict[str, str]:
    """Return what a contract sees that a method runs."""
    call, block = {"from": SENDER, "to": TARGET, **fees}, hex(HEAD)
    if method == "eth_call":
        return members(ask(method, call, block, state("f3"), overrides)["result"])
    if method == "eth_estimateGas":
        # An estimate shows nothing but what a failed run says.
        return members(ask(method, call, block, state("fd"), overrides)["error"]["data"])
    if method == "debug_traceCall":
        options = {"tracer": "callTracer", "stateOverrides": state("f3"), "blockOverrides": overrides}
        return members(ask(method, call, block, options)["result"]["output"])
    simulated = {"blockOverrides": overrides, "stateOverrides": state("f3"), "calls": [call]}
    *_, result = ask(method, {"blockStateCalls": [simulated]}, block)["result"]
    return members(result["calls"][0]["returnData"])


METHODS: Final = ("eth_call", "eth_estimateGas", "debug_traceCall", "eth_simulateV1")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("overrides", "name", "value"),
    [
        ({"number": "0x40"}, "number", "0x40"),
        ({"time": "0xffffffff"}, "timestamp", "0xffffffff"),
        ({"gasLimit": "0x20000"}, "gaslimit", "0x20000"),
        ({"feeRecipient": "0x" + "ab" * 20}, "coinbase", "0x" + "ab" * 20),
        ({"prevRandao": "0x" + "cd" * 32}, "prevrandao", "0x" + "cd" * 32),
        ({"baseFeePerGas": "0x64"}, "basefee", "0x64"),
        ({"baseFeePerGas": "0x64"}, "gasprice", "0x66"),
        ({"blobBaseFee": "0x77"}, "blobbasefee", "0x77"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_member_is_seen_in_place_of_the_blocks(
    ask: Ask, method: str, overrides: dict[str, str], name: str, value: str
) -> None:
    assert seen_by(ask, method, overrides, **FEES)[name] == value


def test_an_estimate_gives_no_more_gas_than_the_block_has(ask: Ask) -> None:
    def estimate(call: dict[str, str], limit: str) -> dict[str, Any]:
        return ask("eth_estimateGas", {"from": SENDER, **call}, hex(HEAD), {}, {"gasLimit": limit})

    create = {"data": "0x600a600055" + "00" * 3000}
    assert estimate(create, "0xc350")["error"]["message"] == "gas required exceeds allowance (50000)"
    assert "result" in estimate(create, "0x7fffffffffffffff")
    # A limit of the call's own counts instead.
    assert "result" in estimate({**create, "gas": "0x186a0"}, "0xc350")


@pytest.mark.parametrize("method", ["eth_call", "eth_estimateGas", "debug_traceCall"])
def test_blocks_from_the_one_that_is_left_on_have_no_hash(ask: Ask, method: str) -> None:
    later = seen_by(ask, method, {"number": hex(HEAD + 2)})
    assert (later["hash of the head"], later["hash of the parent"]) == ("0x0", PARENT_HASH)
    next_block = seen_by(ask, method, {"number": hex(HEAD + 1)})
    # Wallets trace transactions of the next block, where a contract could look for this hash.
    assert next_block["hash of the head"] == (HEAD_HASH if method == "debug_traceCall" else "0x0")
    before = ask(
        "eth_call",
        {"to": TARGET},
        "0x20",
        {TARGET: {"code": f"0x60{HEAD - 1:02x}4060005260206000f3"}},
        {"number": hex(HEAD)},
    )
    assert int(before["result"], 16) == 0


@pytest.mark.parametrize("method", ["eth_call", "debug_traceCall"])
def test_rules_are_those_of_the_number_and_the_time(ask: Ask, method: str) -> None:
    """COUNT LEADING ZEROS is an instruction from Osaka on, PUSH0 from Shanghai on."""

    def run(code: str, **overrides: str) -> bool:
        account, call = {TARGET: {"code": code}}, {"to": TARGET, "gas": "0x186a0"}
        if method == "eth_call":
            return "result" in ask(method, call, hex(HEAD), account, overrides)
        options = {"tracer": "callTracer", "stateOverrides": account, "blockOverrides": overrides}
        return "error" not in ask(method, call, hex(HEAD), options)["result"]

    assert run("0x60011e00")
    assert not run("0x60011e00", time=hex(479))
    assert run("0x60011e00", time=hex(480))
    assert run("0x5f00", time=hex(390))
    assert not run("0x5f00", time=hex(389))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"baseFeePerGas": hex(1 << 64)}, "base fee per gas 18446744073709551616 exceeds 64 bits"),
        ({"blobBaseFee": hex(1 << 128)}, f"blob base fee {1 << 128} exceeds 128 bits"),
        (
            {"beaconRoot": "0x" + "11" * 32},
            'block override "beaconRoot" is not supported for this RPC method',
        ),
        ({"withdrawals": []}, 'block override "withdrawals" is not supported for this RPC method'),
    ],
)
def test_what_cannot_be_is_said(ask: Ask, overrides: dict[str, Any], words: str) -> None:
    for method in ("eth_call", "eth_estimateGas"):
        error = ask(method, {"to": TARGET}, hex(HEAD), {}, overrides)["error"]
        assert (error["code"], error["message"]) == (-32000, words)
    error = ask("debug_traceCall", {"to": TARGET}, hex(HEAD), {"blockOverrides": overrides})["error"]
    assert (error["code"], error["message"]) == (-32000, words)


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (
            {"blockOverrides": {"random": "0x1"}},
            'invalid argument 0: unknown field "random" in block override',
        ),
        (
            {"blockOverrides": {"gasLimit": "0x1", "gaslimit": "0x1"}},
            'invalid argument 0: keys "gasLimit" and "gaslimit" in block override name the same field',
        ),
        (
            {"stateOverrides": {"0x7dcd17433742f4c0ca53122ab541d0ba67fc27df": {"nonces": "0x1"}}},
            'invalid argument 0: unknown field "nonces" in state override for '
            "0x7Dcd17433742F4c0Ca53122aB541D0Ba67fC27Df",
        ),
        (
            {"blockOverrides": {"difficulty": "0x5"}},
            "block 55: difficulty override is not allowed after the merge",
        ),
    ],
)
def test_a_simulation_refuses_members_that_would_mean_nothing(
    ask: Ask, block: dict[str, Any], words: str
) -> None:
    error = ask("eth_simulateV1", {"blockStateCalls": [block]}, hex(HEAD))["error"]
    assert (error["code"], error["message"]) == (-32602, words)


def test_an_access_list_takes_no_members_of_blocks(ask: Ask) -> None:
    error = ask("eth_createAccessList", {"to": TARGET}, hex(HEAD), {}, {"gasLimit": "0x1"})["error"]
    assert (error["code"], error["message"]) == (-32602, "too many arguments, want at most 3")
