"""Runs the reference node of a folder: FOLDER MADE and the node's own options.

Each block that it makes becomes a line of the file MADE, with transactions, receipts and state difference, so
that a chain's contents are known whatever the node answers. It runs with a Python of its own, which has what
the node needs.
"""

import json
import sys
from pathlib import Path
from typing import Any

folder, made_blocks, *options = sys.argv[1:]
sys.path.insert(0, folder)
sys.argv[1:] = options

import chain  # type: ignore[import-not-found]  # noqa: E402
import node  # type: ignore[import-not-found]  # noqa: E402

made = chain.Chain._receipt
sealed = chain.Chain._block


def receipt(self: Any, transaction: Any, diff: Any, *others: Any) -> Any:
    """Return a receipt with the address of the account that the transaction deploys, not of another one."""
    result = made(self, transaction, diff, *others)
    if transaction["type"] == "DEPLOY_ACCOUNT":
        result["contract_address"] = diff["deployed_contracts"][0]["address"]
    return result


def block(self: Any, header: Any, transactions: Any, diff: Any, state: Any) -> Any:
    """Return a sealed block, after it was written to the file."""
    result = sealed(self, header, transactions, diff, state)
    line = {"header": result.header, "transactions": transactions, "state_diff": diff}
    with Path(made_blocks).open("a") as file:
        file.write(json.dumps(line) + "\n")
    return result


chain.Chain._receipt = receipt
chain.Chain._block = block
node.main()
