"""Contracts for nodes that mine: the demo's token, and one that logs as often as it is asked to."""

import time
from typing import Any

from wsnode.demo import token
from wsnode.load.node_reader import NodeReader

CREATION_GAS = hex(2_000_000)
RECEIPT_SECONDS = 30.0
TRANSFER_TOPIC = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"

BURST = bytes.fromhex(
    "5f35"  # PUSH0 CALLDATALOAD: how many logs are left
    "5b"  # 2: JUMPDEST
    "80156039"  # DUP1 ISZERO PUSH1 57
    "57"  # JUMPI
    "60019003"  # PUSH1 1 SWAP1 SUB
    "805f52"  # DUP1 PUSH0 MSTORE: the value of the transfer
    "80"  # DUP1: its recipient
    "33"  # CALLER
    f"7f{TRANSFER_TOPIC}"  # PUSH32
    "60205f"  # PUSH1 32 PUSH0
    "a3"  # LOG3
    "600256"  # PUSH1 2 JUMP
    "5b00"  # 57: JUMPDEST STOP
)
"""Logs as many transfers as the 32 bytes of its input say."""


def burst_creation() -> bytes:
    """Return the input of the transaction that creates it."""
    # PUSH1 size DUP1 PUSH1 9 PUSH0 CODECOPY PUSH0 RETURN: what follows these nine bytes.
    return bytes.fromhex(f"60{len(BURST):02x}8060095f395ff3") + BURST


def deploy(node: NodeReader, sender: str, creation: bytes) -> str:
    """Return the address of a new contract on a node that signs for `sender` and mines."""
    sent = {"from": sender, "data": "0x" + creation.hex(), "gas": CREATION_GAS}
    return str(wait_receipt(node, node.ask("eth_sendTransaction", sent))["contractAddress"])


def deploy_token(node: NodeReader, sender: str) -> str:
    """Return the address of a token of which `sender` has everything."""
    return deploy(node, sender, token.creation())


def wait_receipt(node: NodeReader, transaction: str) -> Any:
    """Return the receipt of a transaction.

    Raises:
        ConnectionError: It is in no block within half a minute.
    """
    end = time.monotonic() + RECEIPT_SECONDS
    while time.monotonic() < end:
        # geth answers with an error while it indexes its first transactions.
        if receipt := node.try_ask("eth_getTransactionReceipt", transaction):
            return receipt
        time.sleep(0.05)
    raise ConnectionError(f"{transaction} is in no block after {RECEIPT_SECONDS:g} s")
