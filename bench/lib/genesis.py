"""The genesis of a chain that a benchmark makes: the demo's accounts, and contracts of its own."""

import json
import time
from pathlib import Path
from typing import Any

from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import development_genesis


def written_genesis(temporary: Path, contracts: dict[str, dict[str, Any]]) -> Path:
    """Return the file of a genesis of ten seconds ago, with what it allocates to contracts by address."""
    addresses = [account.address for account in ACCOUNTS]
    content = json.loads(development_genesis(addresses, 10**24, int(time.time()) - 10))
    content["alloc"] |= contracts
    file = temporary / "genesis.json"
    file.write_text(json.dumps(content))
    return file
