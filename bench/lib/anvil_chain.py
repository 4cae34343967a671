"""A chain for anvil, which cannot import one: a hundred blocks of a hundred transfers of a token."""

from bench.lib.contracts import deploy_token, wait_receipt
from bench.lib.material import transfer_call
from bench.lib.nodes import Node
from wsnode.load.node_reader import NodeReader

BLOCKS = 100
TRANSFERS = 100
RECIPIENTS = 5000
GAS = hex(100_000)


def fill(anvil: Node) -> None:
    """Give an anvil that mines on demand its chain."""
    with NodeReader(anvil.url) as node:
        sender = node.ask("eth_accounts")[0]
        node.ask("anvil_setAutomine", True)
        token = deploy_token(node, sender)
        node.ask("anvil_setAutomine", False)
        last = ""
        for number in range(BLOCKS * TRANSFERS):
            recipient = f"0x{0x1000 + number % RECIPIENTS:040x}"
            last = node.ask("eth_sendTransaction", {**transfer_call(token, sender, recipient, 1), "gas": GAS})
            if number % TRANSFERS == TRANSFERS - 1:
                node.ask("evm_mine")
        wait_receipt(node, last)
