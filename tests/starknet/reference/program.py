"""Runs the reference node of a folder: FOLDER and the node's own options.

It runs with a Python of its own, which has what the node needs.
"""

import sys
from typing import Any

folder, *options = sys.argv[1:]
sys.path.insert(0, folder)
sys.argv[1:] = options

import chain  # type: ignore[import-not-found]  # noqa: E402
import node  # type: ignore[import-not-found]  # noqa: E402

made = chain.Chain._receipt


def receipt(self: Any, transaction: Any, diff: Any, *others: Any) -> Any:
    """Return a receipt with the address of the account that the transaction deploys, not of another one."""
    result = made(self, transaction, diff, *others)
    if transaction["type"] == "DEPLOY_ACCOUNT":
        result["contract_address"] = diff["deployed_contracts"][0]["address"]
    return result


chain.Chain._receipt = receipt
node.main()
