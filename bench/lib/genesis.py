"""The genesis of a chain that a benchmark makes: the demo's accounts, and contracts of its own."""

import json
import time
from pathlib import Path
from typing import Any

from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import DEFAULT_FORK, development_genesis


def written_genesis(
    temporary: Path, contracts: dict[str, dict[str, Any]], *, fork: str = DEFAULT_FORK
) -> Path:
    """Return the file of a genesis of ten seconds ago under the rules of a fork.

    `contracts` are its further accounts by address, in geth's format.
    """
    addresses = [account.address for account in ACCOUNTS]
    content = json.loads(development_genesis(addresses, 10**24, int(time.time()) - 10, fork=fork))
    content["alloc"] |= contracts
    file = temporary / "genesis.json"
    file.write_text(json.dumps(content))
    return file
