"""Where a development chain begins: every fork from the first block on, and some accounts that have ether."""

import json
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from wsnode.ethereum.rpc.limits import GAS_LIMIT_TARGET

EXTRA = b"wsnode dev"


def demo_genesis() -> bytes:
    """Return the genesis of the demo chain, the same for ever."""
    return (files("wsnode.demo") / "genesis.json").read_bytes()


def development_genesis(
    addresses: Iterable[bytes], balance: int, timestamp: int, *, gas_limit: int = GAS_LIMIT_TARGET
) -> bytes:
    """Return a genesis under the same rules, with so many wei for each address.

    Blocks keep its gas limit if it is the one that they move towards.
    """
    genesis: dict[str, Any] = json.loads(demo_genesis())
    # The contracts that blocks call on their own account stay.
    alloc = {address: account for address, account in genesis["alloc"].items() if "code" in account}
    alloc |= {f"0x{address.hex()}": {"balance": hex(balance)} for address in addresses}
    genesis |= {"timestamp": hex(timestamp), "extraData": f"0x{EXTRA.hex()}", "alloc": alloc}
    genesis |= {"gasLimit": hex(gas_limit)}
    return json.dumps(genesis, indent=2).encode()
