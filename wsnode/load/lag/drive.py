"""Blocks made on a development node: by its methods for mining, or by transactions of its own account."""

from collections.abc import Sequence
from typing import Final

import msgspec

from wsnode.load.mix.requests import Request
from wsnode.load.node_reader import NodeReader, NodeRefusedError
from wsnode.untrusted.decoding import one_error

MINE: Final = ("evm_mine", "anvil_mine")
AUTOMINE: Final = ("anvil_getAutomine", "hardhat_getAutomine")
TOPIC: Final = "77736e6f64652062656e6368206c6167" + 32 * "0"
""""wsnode bench lag" in ASCII."""
CREATION_GAS: Final = 150_000
LOG_GAS: Final = 1_500


class DriveError(ConnectionError):
    """Error of a node that cannot be made to produce blocks in the wanted way; the message says why."""


class MiningCalls(msgspec.Struct, frozen=True):
    """Requests that together make a node produce one block, sent one after another, and their name in
    reports.
    """

    name: str
    calls: Sequence[Request]


def logging_code(logs: int) -> str:
    """Return the input of a creation that makes this number of logs with `TOPIC`, and no contract."""
    return "0x" + (
        f"61{logs:04x}"  # PUSH2: how many logs are left
        "5b"  # 3: JUMPDEST
        "80600052"  # DUP1 PUSH1 0 MSTORE: what the log holds
        f"7f{TOPIC}"  # PUSH32
        "60206000a1"  # PUSH1 32 PUSH1 0 LOG1
        "60019003"  # PUSH1 1 SWAP1 SUB
        "80600357"  # DUP1 PUSH1 3 JUMPI
        "60006000f3"  # PUSH1 0 PUSH1 0 RETURN
    )


def choose(node: NodeReader, way: str, logs: int) -> MiningCalls | None:
    """Return the calls by which a node makes blocks with `logs` logs each, None if it shall not or cannot.

    The way is tried, which makes a block: `mine`, `send`, `none`, or `auto` for the first that works.

    Raises:
        DriveError: The node does not offer the named way.
        ConnectionError: The node does not answer.
    """
    if way == "none":
        return None
    if way == "mine" and logs:
        raise DriveError("logs come from transactions: use --drive send")
    refusals = list[str]()
    ways = [_mining] if way == "mine" else [_sending] if way == "send" or logs else [_mining, _sending]
    for each in ways:
        try:
            return each(node, logs)
        except NodeRefusedError as error:
            refusals.append(str(error))
    if way == "auto":
        return None
    raise DriveError("; ".join(refusals))


def _mining(node: NodeReader, logs: int) -> MiningCalls:
    for method in MINE[:-1]:
        try:
            node.ask(method)
        except NodeRefusedError:
            continue
        return MiningCalls(method, [Request(method, [])])
    node.ask(MINE[-1])
    return MiningCalls(MINE[-1], [Request(MINE[-1], [])])


def _sending(node: NodeReader, logs: int) -> MiningCalls:
    with one_error():
        accounts = msgspec.convert(node.ask("eth_accounts"), list[str])
    if not accounts:
        raise NodeRefusedError("eth_accounts: the node has no account that it signs for")
    send = Request("eth_sendTransaction", [_transaction(accounts[0], logs)])
    node.ask(send.method, *send.params)
    if any(node.try_ask(method) is False for method in AUTOMINE):
        mining = _mining(node, logs)
        return MiningCalls(f"{send.method} and {mining.name}", [send, *mining.calls])
    return MiningCalls(send.method, [send])


def _transaction(sender: str, logs: int) -> dict[str, str]:
    if not logs:
        return {"from": sender, "to": sender, "value": "0x1"}
    gas = CREATION_GAS + LOG_GAS * logs
    return {"from": sender, "data": logging_code(logs), "gas": hex(gas)}
