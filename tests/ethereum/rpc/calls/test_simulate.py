"""Simulated blocks; hashes, which cover all of a block, and words are those that geth answers with."""

from typing import Any

import pytest

from tests.memory_transport import Ask, Conversation
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.registry import build_registry
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.work import CallTask, CancelToken, RunInThread

SENDER = "0x" + "c0" * 20
TARGET = "0x" + "13" * 20
OTHER = "0x" + "14" * 20
THIRD = "0x" + "15" * 20
RICH = {SENDER: {"balance": "0xffffffffff"}}
LAST_NONCE = {SENDER: {"balance": "0xffffffffff", "nonce": "0xffffffffffffffff"}}
CALL = {"from": SENDER, "to": TARGET}
LOG = "0x6001600052602a60206000a100"
LOG_AND_REVERT = "0x6001600052602a60206000a160006000fd"
HASH_KEEPER = "0x0000f90827f1c53a10cb7a02335b175320002935"
WITHDRAWAL_QUEUE = "0x00000961ef480eb55e80d19ad83579a64c007002"
GAS = {"gas": "0x10000"}
AUTHORIZATION = {
    "chainId": "0x0",
    "address": TARGET,
    "nonce": "0x0",
    "yParity": "0x0",
    "r": "0x1",
    "s": "0x1",
}


def word(number: int) -> str:
    return f"0x{number:064x}"


def simulation(*blocks: Any, **options: Any) -> dict[str, Any]:
    return {"blockStateCalls": list(blocks), **options}


ENDS: dict[str, tuple[dict[str, Any], str, str]] = {
    "storage that is replaced": (
        simulation(
            {
                "stateOverrides": {TARGET: {"code": "0x600054600155600a600055", "state": {word(0): word(5)}}},
                "calls": [CALL],
            },
            {"stateOverrides": {TARGET: {"state": {word(1): word(7)}}}, "calls": [CALL]},
            {"stateOverrides": {TARGET: {"stateDiff": {word(1): word(9)}}}},
            {"stateOverrides": {TARGET: {"state": {}}}},
        ),
        "latest",
        "0x4b5d1a4354c5ba169493d5bdceafb467473d520d65ae740b32eceff7d6090948",
    ),
    "storage of the chain that is replaced": (
        simulation({"stateOverrides": {HASH_KEEPER: {"state": {word(0x36): word(1)}, "nonce": "0x9"}}}, {}),
        "0x30",
        "0xcd6eaaf70c0da98fa437bdc1473c218911e109b554206eccd64f244779796576",
    ),
    "an account destroyed before Cancun": (
        simulation(
            {
                "stateOverrides": {
                    SENDER: {"balance": "0xffff"},
                    TARGET: {
                        "code": "0x73" + "15" * 20 + "ff",
                        "balance": "0x64",
                        "state": {word(0): word(5)},
                    },
                },
                "calls": [{**CALL, "value": "0x1"}, CALL],
            },
            {"calls": [CALL]},
        ),
        "0x23",
        "0xf0367309db94c785b35e69e3b949c7bae379ce9e0a55428caf81bd7d9d101d26",
    ),
    "receipts with state roots": (
        simulation(
            {
                "stateOverrides": {
                    SENDER: {"balance": "0xffffff"},
                    TARGET: {"code": "0x600160005560005460015500", "balance": "0x0"},
                },
                "calls": [{**CALL, "value": "0x1"}, {"from": SENDER, "to": THIRD}],
            },
            {"calls": [{**CALL, "value": "0x1"}]},
        ),
        "0x2",
        "0xf3f5cafbd0fb5e5597d85263c87978b5842394ef59526df78c8f589f8cdcb743",
    ),
    "empty accounts": (
        simulation(
            {
                "stateOverrides": {
                    TARGET: {"nonce": "0x0"},
                    OTHER: {},
                    THIRD: {"state": {}},
                    "0x" + "16" * 20: {"stateDiff": {word(0): word(5)}},
                }
            },
            {"calls": [{"from": SENDER, "to": THIRD}]},
        ),
        "latest",
        "0x0dbe3e7162185a6442848699821017397967ffb974a7ed594e80994a7c920ac8",
    ),
    "all kinds of transactions": (
        simulation(
            {
                "stateOverrides": RICH,
                "calls": [
                    {**CALL, **GAS, "gasPrice": "0x5"},
                    {
                        **CALL,
                        **GAS,
                        "maxFeePerGas": "0x20",
                        "maxPriorityFeePerGas": "0x3",
                        "accessList": [{"address": TARGET, "storageKeys": [word(1)]}],
                    },
                    {
                        **CALL,
                        **GAS,
                        "blobVersionedHashes": ["0x01" + "11" * 31],
                        "maxFeePerBlobGas": "0x1",
                    },
                    {**CALL, **GAS, "authorizationList": [AUTHORIZATION]},
                    {"from": SENDER, **GAS, "input": "0x00"},
                ],
            },
            {},
        ),
        "latest",
        "0x6bae258e4dce39b46a69d308978906a96f63bb8bf7d5cdd8f6aa3648db7b5fc8",
    ),
    "withdrawals and the beacon root": (
        simulation(
            {
                "blockOverrides": {
                    "withdrawals": [
                        {"index": "0x1", "validatorIndex": "0x2", "address": TARGET, "amount": "0x3"},
                        {"address": THIRD},
                    ],
                    "beaconRoot": "0x" + "22" * 32,
                }
            },
            {},
        ),
        "latest",
        "0x55579bbb508808a0d7d22621771be5857259911704bddd0608a5d90da789e4a8",
    ),
    "fees that are paid": (
        simulation(
            {
                "blockOverrides": {"baseFeePerGas": "0x7", "feeRecipient": "0x" + "99" * 20},
                "stateOverrides": RICH,
                "calls": [
                    {**CALL, **GAS, "maxFeePerGas": "0x20", "maxPriorityFeePerGas": "0x3"},
                    {**CALL, **GAS, "gasPrice": "0x9"},
                ],
            },
            {},
            validation=True,
        ),
        "latest",
        "0x3a4473bb98a18f3f5753d98861a7e9c3869283dbd63800d8876d6b366e8b392d",
    ),
    "mined blocks": (
        simulation({"calls": [CALL]}, {}),
        "earliest",
        "0xbbf1cb8737552d55c9e9679c48b4e03ba48a61f5f2947b17913058ef2b0f6901",
    ),
    "requests in a queue": (
        simulation({"stateOverrides": {WITHDRAWAL_QUEUE: {"code": "0x602a60005260206000f3"}}}),
        "latest",
        "0x6b290e8c10c7c387af056a419cbe5b71b9ff1939cc0403913dfb5d2a31922d78",
    ),
    "the greatest nonce, after which comes 0": (
        simulation({"stateOverrides": LAST_NONCE, "calls": [{**CALL, **GAS}, {**CALL, **GAS}]}),
        "latest",
        "0xb006eb0b17624a30035ec0c3ceb5c69a0cb564f68b94231c0f59982e4ceb7cf4",
    ),
    "a contract that the greatest nonce cannot create": (
        simulation(
            {
                "stateOverrides": LAST_NONCE,
                "calls": [{"from": SENDER, "input": "0x00", **GAS}, {**CALL, **GAS}],
            }
        ),
        "latest",
        "0xda7167ad298ea3d389b2eca0e39134d31921f30cec676d10308a5eddeb54c030",
    ),
}


@pytest.mark.parametrize(("wanted", "block", "end"), ENDS.values(), ids=ENDS)
def test_the_last_block_has_the_hash_that_geth_gives_it(
    wanted: dict[str, Any], block: str, end: str, ask: Ask
) -> None:
    assert ask("eth_simulateV1", wanted, block)["result"][-1]["hash"] == end


def test_what_the_greatest_nonce_cannot_create_fails(ask: Ask) -> None:
    calls = [{"from": SENDER, "input": "0x00", "value": "0x1", **GAS}]
    wanted = simulation({"stateOverrides": LAST_NONCE, "calls": calls}, traceTransfers=True)
    (call,) = ask("eth_simulateV1", wanted, "latest")["result"][0]["calls"]
    assert (call["status"], call["logs"]) == ("0x0", [])
    assert call["error"] == {"code": -32015, "message": "nonce uint64 overflow"}
    refused = {"code": -32000, "message": "nonce uint64 overflow"}
    for method in ("eth_call", "eth_estimateGas"):
        assert ask(method, {"from": SENDER, "input": "0x00"}, "latest", LAST_NONCE)["error"] == refused


REFUSED: list[tuple[Any, int, str]] = [
    ({}, -32602, "empty input"),
    (5, -32602, "invalid argument 0: json: cannot unmarshal number into Go value of type ethapi.simOpts"),
    (
        {"blockStateCalls": [5]},
        -32602,
        "invalid argument 0: json: cannot unmarshal number into Go struct field simOpts.BlockStateCalls"
        " of type ethapi.simBlock",
    ),
    (
        simulation({"calls": [{"to": "00"}]}),
        -32602,
        "invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field"
        " TransactionArgs.BlockStateCalls.Calls.to of type common.Address",
    ),
    (
        simulation({"stateOverrides": {TARGET: {"balance": "1"}}}),
        -32602,
        "invalid argument 0: json: cannot unmarshal hex string without 0x prefix into Go struct field"
        " OverrideAccount.BlockStateCalls.StateOverrides.balance of type *hexutil.Big",
    ),
    (
        simulation({"blockOverrides": {"withdrawals": [{"index": 5}]}}),
        -32602,
        "invalid argument 0: json: cannot unmarshal non-string into Go struct field"
        " BlockOverrides.BlockStateCalls.BlockOverrides.Withdrawals.index of type hexutil.Uint64",
    ),
    (
        simulation({}, validation=5),
        -32602,
        "invalid argument 0: json: cannot unmarshal number into Go struct field simOpts.Validation"
        " of type bool",
    ),
    (simulation(*[{}] * 257), -38026, "too many blocks"),
    (simulation({"blockOverrides": {"number": "0x137"}}), -38026, "too many blocks"),
    (simulation({"calls": [{}] * 5001}), -38026, "too many calls in block: 5001 > 5000"),
    (simulation(*[{"calls": [{}] * 3334}] * 3), -38026, "too many calls: 10002 > 10000"),
    (
        simulation({"calls": [{**CALL, "gas": "0xffffffffffff"}]}),
        -38015,
        "block gas limit reached: remaining: 200000000, required: 281474976710655",
    ),
    (
        simulation({"calls": [{**CALL, "nonce": "0x7"}]}, validation=True),
        -38011,
        "err: nonce too high: address 0xC0C0c0c0C0C0c0c0c0C0c0C0C0C0C0C0C0C0c0c0, tx: 7 state: 0"
        " (supplied gas 50000000)",
    ),
    (
        simulation(
            {"stateOverrides": {SENDER: {"nonce": "0x5"}}, "calls": [{**CALL, "nonce": "0x4"}]},
            validation=True,
        ),
        -38010,
        "err: nonce too low: address 0xC0C0c0c0C0C0c0c0c0C0c0C0C0C0C0C0C0C0c0c0, tx: 4 state: 5"
        " (supplied gas 50000000)",
    ),
    (
        simulation({"calls": [{**CALL, "maxPriorityFeePerGas": "0x2", "maxFeePerGas": "0x1"}]}),
        -32602,
        "err: max priority fee per gas higher than max fee per gas: address"
        " 0xC0C0c0c0C0C0c0c0c0C0c0C0C0C0C0C0C0C0c0c0, maxPriorityFeePerGas: 2, maxFeePerGas: 1"
        " (supplied gas 50000000)",
    ),
    (
        simulation({"calls": [{"input": "0x" + "00" * 50000}]}),
        -38025,
        "err: max initcode size exceeded: code size 50000 limit 49152 (supplied gas 50000000)",
    ),
    (
        simulation({"calls": [{**CALL, "chainId": "0x1"}, {**CALL, "value": "0x1"}]}),
        -32000,
        "chainId does not match node's (have=1, want=3503995874084926)",
    ),
    (
        simulation({"stateOverrides": {TARGET: {"movePrecompileToAddress": OTHER}}}),
        -32000,
        "account 0x1313131313131313131313131313131313131313 is not a precompile",
    ),
    (
        simulation({"stateOverrides": {WITHDRAWAL_QUEUE: {"code": "0x"}}}),
        -32000,
        "failed to process withdrawal queue: empty system contract: no code at"
        " 0x00000961Ef480Eb55e80D19ad83579A64c007002",
    ),
]


@pytest.mark.parametrize(("wanted", "code", "message"), REFUSED)
def test_what_cannot_be_simulated_is_refused_in_geths_words(
    wanted: Any, code: int, message: str, ask: Ask
) -> None:
    assert ask("eth_simulateV1", wanted)["error"] == {"code": code, "message": message}


def test_arguments_that_contradict_each_other_are_refused_in_their_turn(ask: Ask) -> None:
    wanted = simulation({"calls": [{**CALL, "value": "0x1"}, {**CALL, "chainId": "0x1"}]})
    assert ask("eth_simulateV1", wanted)["error"]["code"] == -38014


def test_logs_that_are_taken_back_count_in_the_numbers_of_later_ones(ask: Ask) -> None:
    block = {
        "stateOverrides": {TARGET: {"code": LOG}, OTHER: {"code": LOG_AND_REVERT}},
        "calls": [{"from": SENDER, "to": OTHER}, CALL],
    }
    reverted, logged = ask("eth_simulateV1", simulation(block))["result"][0]["calls"]
    assert (reverted["logs"], reverted["error"]["code"]) == ([], 3)
    assert [log["logIndex"] for log in logged["logs"]] == ["0x1"]


def test_transfers_are_logs_of_an_account_that_does_not_exist(ask: Ask) -> None:
    block = {
        "stateOverrides": {**RICH, TARGET: {"code": "0x73" + "15" * 20 + "ff", "balance": "0x64"}},
        "calls": [{**CALL, "value": "0x7"}, {"from": SENDER, "value": "0x9"}],
    }
    answer = ask("eth_simulateV1", simulation(block, traceTransfers=True))["result"][0]
    transfers = [
        (f"0x{log['topics'][1][-40:]}", f"0x{log['topics'][2][-40:]}", int(log["data"], 16))
        for call in answer["calls"]
        for log in call["logs"]
    ]
    created = transfers[-1][1]
    assert transfers == [(SENDER, TARGET, 7), (TARGET, THIRD, 0x6B), (SENDER, created, 9)]
    assert {log["address"] for call in answer["calls"] for log in call["logs"]} == {"0x" + "ee" * 20}
    assert answer["logsBloom"] == "0x" + "00" * 256


def test_blocks_follow_on_the_block_to_come(ask: Ask) -> None:
    number = {"stateOverrides": {TARGET: {"code": "0x4360005260206000f3"}}, "calls": [CALL]}
    (block,) = ask("eth_simulateV1", simulation(number), "pending")["result"]
    assert (int(block["number"], 16), int(block["calls"][0]["returnData"], 16)) == (56, 56)


def test_a_simulation_that_is_cancelled_ends_and_says_how_long_it_had(execution_apis_chain: Chain) -> None:
    limits = CallLimits(call_seconds=0.5, simulation_gas=1 << 60)
    session = Dispatcher(build_registry(execution_apis_chain, limits=limits), execution_apis_chain.snapshot)
    endless = b'{"%b":{"code":"0x5b5f56"}}' % TARGET.encode()
    answer = Conversation(session, None).receive(
        b'{"jsonrpc":"2.0","id":1,"method":"eth_simulateV1","params":[{"blockStateCalls":[{"blockOverrides":'
        b'{"gasLimit":"0xffffffffffffff"},"stateOverrides":%b,"calls":[{"to":"%b"}]}]}]}'
        % (endless, TARGET.encode())
    )
    assert isinstance(answer, CallTask)
    assert isinstance(answer.step, RunInThread)
    token = CancelToken()
    token.set()
    with pytest.raises(Exception, match="stopped") as stopped:
        answer.step.function(token)
    assert isinstance(stopped.value, Exception)
    assert answer.fail(stopped.value)
    assert answer.reply == (
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"execution aborted (timeout = 0.5s)"}}'
    )
