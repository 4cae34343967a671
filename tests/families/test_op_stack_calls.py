"""Calls of a light folder of the OP stack: by the rules of the EVM that are in force at the block."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.families.restated_blocks import OP_GETH, op_geth, serving
from tests.node_process import Node, started, until
from tests.peers.anvil import ask_url
from tests.scenarios.test_following import plain, result
from tests.vector_files import require_vectors

pytestmark = pytest.mark.slow

PLACE = "0x" + "c0de" * 10
"""Where overrides put code."""
FROM = "0x" + "5a" * 20
PUSH0, TLOAD, MCOPY, CLZ = "0x5f00", "0x60005c00", "0x6000600060005e00", "0x60001e00"
P256VERIFY = f"0x{0x100:040x}"
BN_PAIRING = f"0x{8:040x}"
ERAS = {"regolith": (2, 3), "canyon": (8, 9), "ecotone": (14, 15), "fjord": (20, 21), "granite": (26, 27)} | {
    "isthmus": (38, 39),
    "jovian": (50, 51),
    "karst": (53, 54),
}
"""Two blocks in a row of op-geth's chain by their fork; the last ones have Karst by the genesis file."""


@contextmanager
def following(folder: Path, fork: str) -> Iterator[Node]:
    """Start a node on a light folder whose head has the rules of a fork."""
    numbers = ERAS[fork]
    made = json.loads((require_vectors(OP_GETH) / "genesis.json").read_bytes())
    first = json.loads((require_vectors(OP_GETH) / "53" / "block.json").read_bytes())
    karst = int(first["timestamp"], 16)
    genesis = folder / "genesis.json"
    genesis.write_text(json.dumps({"config": made["config"] | {"karstTime": karst, "osakaTime": karst}}))
    with op_geth(folder / "state", numbers) as upstream, serving(upstream) as url:
        options = (
            "--genesis",
            str(genesis),
            "--light",
            "--upstream",
            url,
            "--listen",
            "127.0.0.1:0",
            "--open",
        )
        with started("follow", "--data", str(folder / "light"), *options) as node:
            until("the head", lambda: head(node) == upstream.head["hash"])
            yield node


def head(node: Node) -> str | None:
    found = ask_url(plain(node), "eth_getBlockByNumber", "latest", False).get("result")
    return None if found is None else str(found["hash"])


def runs(node: Node, code: str) -> bool:
    """Return whether code runs to its end; otherwise one of its instructions is not defined."""
    call = {"from": FROM, "to": PLACE}
    reply = ask_url(plain(node), "eth_call", call, "latest", {PLACE: {"code": code}})
    assert "result" in reply or "invalid opcode" in reply["error"]["message"], reply
    return "result" in reply


def gas_used(node: Node, to: str) -> int:
    call = {"from": FROM, "to": to, "gas": "0x100000"}
    traced = result(plain(node), "debug_traceCall", call, "latest", {"tracer": "callTracer"})
    return int(traced["gasUsed"], 16)


@pytest.mark.parametrize(
    ("fork", "instructions", "signature_gas"),
    [
        ("regolith", (False, False, False, False), 0),
        ("canyon", (True, False, False, False), 0),
        ("ecotone", (True, True, True, False), 0),
        ("fjord", (True, True, True, False), 3_450),
        ("isthmus", (True, True, True, False), 3_450),
        ("jovian", (True, True, True, False), 3_450),
        ("karst", (True, True, True, True), 6_900),
    ],
)
def test_calls_have_the_instructions_and_contracts_of_the_fork(
    tmp_path: Path, fork: str, instructions: tuple[bool, ...], signature_gas: int
) -> None:
    with following(tmp_path, fork) as node:
        assert tuple(runs(node, code) for code in (PUSH0, TLOAD, MCOPY, CLZ)) == instructions
        used = gas_used(node, P256VERIFY)
        assert used == 21_000 + signature_gas
        # A transaction pays for data on L1 beside its gas. An estimate is at most 1.5 % above, as op-geth's.
        estimated = int(result(plain(node), "eth_estimateGas", {"from": FROM, "to": P256VERIFY}), 16)
        assert used <= estimated <= used * 1.015


@pytest.mark.parametrize(
    ("fork", "most"), [("fjord", None), ("granite", 112_687), ("jovian", 81_984), ("karst", 57_600)]
)
def test_a_pairing_has_the_longest_input_of_the_fork(tmp_path: Path, fork: str, most: int | None) -> None:
    with following(tmp_path, fork) as node:
        for pairs in (300, 301, 427, 428, 586, 587):
            call = {"from": FROM, "to": BN_PAIRING, "data": "0x" + "00" * 192 * pairs, "gas": hex(60_000_000)}
            reply = ask_url(plain(node), "eth_call", call, "latest")
            assert ("result" in reply) == (most is None or 192 * pairs <= most), (pairs, reply)


def test_predeployed_contracts_are_ordinary_ones(tmp_path: Path) -> None:
    with following(tmp_path, "jovian") as node:
        attributes = "0x4200000000000000000000000000000000000015"
        code = result(plain(node), "eth_getCode", attributes, "latest")
        assert len(code) > 2
