"""trace_… beside anvil's, on the same transactions of the same accounts."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, Final

import msgspec
import pytest

from tests.node_process import started
from tests.peers.anvil import ask_url, started_anvil

TARGET: Final = "0x" + "13" * 20
CALLEE: Final = "0x" + "14" * 20
NOBODY: Final = "0x" + "15" * 20
MINER: Final = "0x" + "00" * 20
_TO: Final = CALLEE[2:]
_CALL: Final = {
    "call": f"5f5f5f5f5f73{_TO}5af1",
    "callcode": f"5f5f5f5f5f73{_TO}5af2",
    "delegatecall": f"5f5f5f5f73{_TO}5af4",
    "staticcall": f"5f5f5f5f73{_TO}5afa",
}
_REASON: Final = (
    "7f08c379a0" + "00" * 28 + "5f52" + "6020600452" + "6003602452" + "626164616044526064" + "5ffd"
)
"""Reverts with Error(string)."""


class Scenario(msgspec.Struct, frozen=True):
    """Code at the target and at what that calls, and the transaction that begins it."""

    code: str = ""
    callee: str = ""
    value: int = 0
    gas: int = 300_000
    input: str = "0x"
    to: str | None = TARGET


def stored(code: str) -> str:
    """Return instructions that put `code` to the front of the memory."""
    assert len(code) <= 64
    return "7f" + code.ljust(64, "0") + "5f52"


def made(code: str, *, value: int = 0, salt: bool = False) -> str:
    """Return instructions that create a contract with `code` as init code."""
    size = len(code) // 2
    return stored(code) + ("5f" if salt else "") + f"60{size:02x}5f60{value:02x}" + ("f5" if salt else "f0")


SCENARIOS: Final[Mapping[str, Scenario]] = {
    "transfer": Scenario(to=NOBODY, value=7),
    "transfer to itself, empty": Scenario(to=NOBODY),
    **{kind: Scenario(code + "00", "60015f5500") for kind, code in _CALL.items()},
    **{
        f"{kind} with input": Scenario(code + "00", "365f5f37365ff3", input="0x1234")
        for kind, code in _CALL.items()
    },
    "call with value": Scenario(f"5f5f5f5f600373{_TO}5af100", value=5),
    "call with more value than there is": Scenario(f"5f5f5f5f600973{_TO}5af100", value=5),
    "static call that writes": Scenario(_CALL["staticcall"] + "00", "60015f55"),
    "static call that logs": Scenario(_CALL["staticcall"] + "00", "5f5fa0"),
    "revert": Scenario("5f5ffd"),
    "revert with a reason": Scenario(_REASON),
    "revert inside": Scenario(_CALL["call"] + "00", _REASON),
    "invalid instruction": Scenario("fe"),
    "unknown instruction": Scenario("0c"),
    "stack underflow": Scenario("01"),
    "bad jump": Scenario("5f56"),
    "out of gas": Scenario("5b5f56", gas=100_000),
    "out of gas inside": Scenario(_CALL["call"] + "00", "5b5f56"),
    "out of gas for memory": Scenario("5f63ffffffff52"),
    "return data out of bounds": Scenario("60015f5f3e"),
    "reentrancy sentry": Scenario(f"5f5f5f5f5f73{_TO}6108fcf100", "60015f55"),
    "log and storage": Scenario("60015f555f5fa0"),
    "create": Scenario(made("60015ff3")),
    "create with value": Scenario(made("60015ff3", value=3), value=5),
    "create2": Scenario(made("60015ff3", salt=True)),
    "create2 twice": Scenario(made("60015ff3", salt=True) * 2),
    "creation that reverts": Scenario(made("5f5ffd")),
    "creation of refused code": Scenario(made("60ef5f5360015ff3")),
    "creation that is destroyed": Scenario(made(f"73{NOBODY[2:]}ff", value=3), value=5),
    "destruction": Scenario(f"73{NOBODY[2:]}ff", value=9),
    "destruction inside": Scenario(_CALL["call"] + "00", f"73{NOBODY[2:]}ff"),
    "destruction inside, undone": Scenario(_CALL["call"] + "5f5ffd", f"73{NOBODY[2:]}ff"),
    "destruction by delegate": Scenario(_CALL["delegatecall"] + "00", f"73{NOBODY[2:]}ff", value=2),
    "call after destruction": Scenario(_CALL["call"] * 2 + "00", f"73{NOBODY[2:]}ff"),
    "hash by contract": Scenario("60205f60205f5f60025af100"),
    "hash by contract, with value": Scenario("60205f60205f600160025af100", value=1),
    "pairing that fails": Scenario("5f5f60205f5f60085af100"),
    "transaction to a precompiled contract": Scenario(to="0x" + "00" * 19 + "02", input="0x1234"),
    "creation": Scenario("60015ff3", to=None),
    "creation, reverted": Scenario(_REASON, to=None),
    "creation without the gas for its code": Scenario("6120005ff3", to=None, gas=60_000),
    "creation that calls": Scenario(_CALL["call"] + "60015ff3", "00", to=None, value=4),
}


class Peers(msgspec.Struct, frozen=True):
    """Both nodes' addresses."""

    ours: str
    anvils: str

    def ask(self, method: str, *params: Any) -> tuple[Any, Any]:
        """Return both results, ours first."""
        replies = [ask_url(url, method, *params) for url in (self.ours, self.anvils)]
        assert all("result" in reply for reply in replies), replies
        return replies[0]["result"], replies[1]["result"]


@pytest.fixture(scope="module")
def peers() -> Iterator[Peers]:
    """Start both nodes with the well-known accounts."""
    with ExitStack() as stack:
        node = stack.enter_context(started("dev", "--listen", "127.0.0.1:0"))
        ours = node.bare(node.http_url)
        chain = int(ask_url(ours, "eth_chainId")["result"], 16)
        anvils = stack.enter_context(started_anvil("--chain-id", str(chain)))
        yield Peers(ours, anvils)


WORDS: Final = {
    "CreateCollision": "Contract address collision",
    "CreateContractStartingWithEF": "Invalid code",
    "OutOfOffset": "Out of bounds",
    "StackUnderflow": "Stack underflow",
    "StateChangeDuringStaticCall": "Mutable Call In Static Context",
}
"""What revm-inspectors says where anvil's, which is older, gives the EVM's own names."""
_NOTHING: Final = {"balance": "0x0", "nonce": "0x0", "code": "0x"}
_ZERO: Final = "0x" + "00" * 32


def send(peers: Peers, scenario: Scenario) -> str:
    """Have both nodes make a block with the transaction, and return its hash."""
    for address, code in ((TARGET, scenario.code), (CALLEE, scenario.callee)):
        peers.ask("anvil_setCode", address, f"0x{code}")
        peers.ask("anvil_setBalance", address, hex(1))
    transaction = {
        "from": ask_url(peers.ours, "eth_accounts")["result"][0],
        "gas": hex(scenario.gas),
        "gasPrice": hex(2 * 10**9),
        "value": hex(scenario.value),
        "input": f"0x{scenario.code}" if scenario.to is None else scenario.input,
    }
    if scenario.to is not None:
        transaction["to"] = scenario.to
    ours, anvils = peers.ask("eth_sendTransaction", transaction)
    assert ours == anvils
    # anvil answers before it has made the block.
    while None in peers.ask("eth_getTransactionReceipt", ours):
        pass
    return str(ours)


def placed(trace: dict[str, Any]) -> dict[str, Any]:
    """Return a trace without its block's hash, for the times of both chains differ."""
    return {name: value for name, value in trace.items() if name != "blockHash"}


def as_now(trace: dict[str, Any]) -> dict[str, Any]:
    """Return one of anvil's traces as the inspector of today writes it."""
    if "error" in trace:
        trace["error"] = WORDS.get(trace["error"], trace["error"])
    if trace.get("error") == "Reverted" and trace["type"] == "create":
        result = trace["result"]
        trace["result"] = {"gasUsed": result["gasUsed"], "output": result["code"]}
    return placed(trace)


def without_precompiled(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return traces without the calls of precompiled contracts that move nothing, which Parity leaves out."""

    def is_hidden(trace: dict[str, Any]) -> bool:
        action = trace["action"]
        is_precompiled = int(action.get("to", MINER[:-2] + "ff"), 16) <= 17
        return bool(trace["traceAddress"]) and is_precompiled and action["value"] == "0x0"

    hidden = [trace["traceAddress"] for trace in traces if is_hidden(trace)]
    for trace in traces:
        trace["subtraces"] -= sum(place[:-1] == trace["traceAddress"] for place in hidden)
    return [trace for trace in traces if trace["traceAddress"] not in hidden]


def moving(operations: list[dict[str, Any]], traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return anvil's operations as erigon has them, without what the transaction itself is."""
    action = traces[0]["action"]
    is_own = traces[0]["type"] == "create" or action["value"] != "0x0"
    return operations[1:] if is_own else operations


def after(change: Any, nothing: str) -> Any:
    """Return what a value came to be: anvil calls changed what the inspector of today calls new."""
    if change == "=":
        return change
    ((kind, value),) = change.items()
    if kind == "+" and value == nothing:
        return "="
    return None if kind == "-" else value["to"] if kind == "*" else value


def changes(results: dict[str, Any]) -> dict[str, Any]:
    """Return a transaction's changes without the miner's, whose tips depend on base fees that differ."""
    return {
        address: {
            **{name: after(account[name], nothing) for name, nothing in _NOTHING.items()},
            "storage": {slot: after(change, _ZERO) for slot, change in account["storage"].items()},
        }
        for address, account in results["stateDiff"].items()
        if address != MINER
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", SCENARIOS)
def test_traces_and_changes_are_those_of_anvil(peers: Peers, name: str) -> None:
    transaction = send(peers, SCENARIOS[name])
    ours, anvils = peers.ask("trace_transaction", transaction)
    assert [placed(trace) for trace in ours] == [as_now(trace) for trace in without_precompiled(anvils)]
    traces, block = ours, hex(ours[0]["blockNumber"])
    assert peers.ask("trace_block", block)[0] == ours
    (ours,), (anvils,) = peers.ask("trace_replayBlockTransactions", block, ["stateDiff", "trace", "vmTrace"])
    assert changes(ours) == changes(anvils)
    assert (ours["output"], ours["transactionHash"]) == (anvils["output"], transaction)
    assert len(set(peers.ask("ots_getTransactionError", transaction))) == 1
    inside, with_own = peers.ask("ots_getInternalOperations", transaction)
    if "destr" not in name:
        # anvil shows a call that ends in a destruction as that alone.
        assert inside == moving(with_own, traces)
    if SCENARIOS[name].to is not None:
        # anvil does not know the steps of a transaction that creates.
        assert steps(ours) == steps(anvils)[: len(steps(ours))]


def steps(results: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return the outermost steps; anvil counts one that failed before it began, and says less of each."""
    return [(step["pc"], step["op"], step["cost"]) for step in results["vmTrace"]["ops"]]
