"""Where a development chain begins: every fork from the first block on, and some accounts that have ether."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from wsnode.ethereum.rpc.limits import GAS_LIMIT_TARGET

EXTRA = b"wsnode dev"


def demo_genesis() -> bytes:
    """Return the genesis of the demo chain, the same for ever."""
    return Path(__file__).with_name("genesis.json").read_bytes()


def development_genesis(
    addresses: Iterable[bytes], balance: int, timestamp: int, *, gas_limit: int = GAS_LIMIT_TARGET
) -> bytes:
    """Return a genesis under the same rules, with so many wei for each address.

    Blocks keep its gas limit if it is the one that they move towards.
    """
    genesis: dict[str, Any] = msgspec.json.decode(demo_genesis())
    # The contracts that blocks call on their own account stay.
    alloc = {address: account for address, account in genesis["alloc"].items() if "code" in account}
    alloc |= {f"0x{address.hex()}": {"balance": hex(balance)} for address in addresses}
    genesis |= {"timestamp": hex(timestamp), "extraData": f"0x{EXTRA.hex()}", "alloc": alloc}
    genesis |= {"gasLimit": hex(gas_limit)}
    return msgspec.json.format(msgspec.json.encode(genesis), indent=2)
