"""Every transaction and random programs, step by step, against the Python execution specification."""

import json
import os
import random
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.drawing import examples
from tests.ethereum.specification.programs import program
from tests.memory_transport import Ask
from tests.vector_files import require_vectors

EXECUTE = Path(__file__).parent / "specification" / "execute.py"
CALLER = "0x" + "c0" * 20
CONTRACT = "0x" + "13" * 20
PROGRAMS = examples(400)
GAS = 200_000
PRECOMPILES = [*range(1, 0x12), 0x100]

pytestmark = pytest.mark.slow
Step = list[Any]


@pytest.fixture(scope="module")
def calls(ask: Ask) -> list[dict[str, Any]]:
    """Return random programs that call each other's precompiles, and accounts of the chain."""
    chance = random.Random(20)
    block = ask("eth_getBlockByNumber", "latest", True)["result"]
    accounts = [int(transaction["from"], 16) for transaction in block["transactions"]]
    accounts += [int(each["to"], 16) for each in block["transactions"] if each["to"]]
    addresses = [*PRECOMPILES, *accounts, int(CONTRACT, 16), 0xDEAD]
    return [
        {
            "code": program(chance, addresses).hex(),
            "input": chance.randbytes(chance.choice((0, 4, 36))).hex(),
            "gas": chance.choice((GAS, GAS, 30_000)),
        }
        for _ in range(PROGRAMS)
    ]


@pytest.fixture(scope="module")
def specified(calls: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the specification says."""
    here = sys.executable if find_spec("ethereum") and find_spec("ethereum_rlp") else None
    python = os.environ.get("WSNODE_EXECUTION_SPECIFICATION", here)
    if python is None:
        pytest.skip(
            "the specification is not installed: name a Python with the package `ethereum-execution` in"
            " WSNODE_EXECUTION_SPECIFICATION"
        )
    vectors = require_vectors("execution-apis")
    wanted = tmp_path_factory.mktemp("specification") / "calls.json"
    wanted.write_text(json.dumps(calls))
    command = [python, str(EXECUTE), str(vectors / "genesis.json"), str(vectors / "chain.rlp"), str(wanted)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


class Names:
    """The one name of each opcode that traces have used."""

    def __init__(self) -> None:
        self._names = dict[int, str]()

    def check(self, opcode: int, name: str) -> None:
        assert self._names.setdefault(opcode, name) == name, f"two names of 0x{opcode:02x}"


def compare_steps(trace: dict[str, Any], steps: list[Step], names: Names) -> None:
    """Hold the steps of a trace against the specified ones; the cost of a failing step is not specified."""
    assert len(trace["structLogs"]) == len(steps)
    for place, (log, (pc, opcode, gas, cost, depth, stack)) in enumerate(
        zip(trace["structLogs"], steps, strict=True)
    ):
        names.check(opcode, log["op"])
        found = (log["pc"], log["gas"], log["depth"], log["stack"])
        assert found == (pc, gas, depth, stack), f"step {place}, {log['op']}"
        if cost is not None:
            assert log["gasCost"] == cost, f"step {place}, {log['op']}"


def test_every_transaction_takes_the_specified_steps(ask: Ask, specified: dict[str, Any]) -> None:
    names = Names()
    assert len(specified["transactions"]) > 200
    for transaction, expected in specified["transactions"].items():
        receipt = ask("eth_getTransactionReceipt", transaction)["result"]
        trace = ask("debug_traceTransaction", transaction)["result"]
        used = expected["gasUsed"]
        assert (int(receipt["gasUsed"], 16), trace["gas"]) == (used, used), transaction
        assert trace["failed"] is expected["failed"], transaction
        assert trace["returnValue"] == expected["output"], transaction
        compare_steps(trace, expected["steps"], names)


def test_every_account_holds_what_is_specified(ask: Ask, specified: dict[str, Any]) -> None:
    assert len(specified["accounts"]) > 20
    for address, expected in specified["accounts"].items():
        found = {
            "nonce": ask("eth_getTransactionCount", address, "latest")["result"],
            "balance": ask("eth_getBalance", address, "latest")["result"],
            "code": ask("eth_getCode", address, "latest")["result"],
            "storage": {
                slot: hex(int(ask("eth_getStorageAt", address, slot, "latest")["result"], 16))
                for slot in expected["storage"]
            },
        }
        assert found == expected, address


def check_call(ask: Ask, each: dict[str, Any], expected: dict[str, Any], names: Names) -> None:
    """Hold a call and its trace against what is specified."""
    code = each["code"]
    call = {"from": CALLER, "to": CONTRACT, "gas": hex(each["gas"]), "input": "0x" + each["input"]}
    overrides = {CONTRACT: {"code": "0x" + code}}
    trace = ask("debug_traceCall", call, "latest", {"stateOverrides": overrides})["result"]
    assert (trace["failed"], trace["returnValue"]) == (expected["failed"], expected["output"]), code
    compare_steps(trace, expected["steps"], names)
    assert trace["gas"] == expected["gasUsed"], code
    reply = ask("eth_call", call, "latest", overrides)
    error = reply.get("error", {"code": 0})
    assert error["code"] in ((3, -32000) if expected["failed"] else (0,)), code
    assert reply.get("result", error.get("data", "0x")) == expected["output"], code


def test_random_programs_take_the_specified_steps(
    ask: Ask, calls: list[dict[str, Any]], specified: dict[str, Any]
) -> None:
    names = Names()
    for each, expected in zip(calls, specified["calls"], strict=True):
        check_call(ask, each, expected, names)
