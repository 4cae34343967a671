"""A chain's rules and keys for tests of transactions that no block holds yet."""

import json
from typing import Any

from wsnode.ethereum.state import ChainSpec

CHAIN_ID = 1337
SECRET = b"\x11" * 32
FORKS = ("homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul")
FORKS_OF_TYPES = ("berlin", "london", "shanghai", "cancun", "prague", "osaka")


def chain_until(fork: str) -> ChainSpec:
    """Return a chain whose newest fork is `fork`, of proof of stake if it knows London."""
    active = FORKS_OF_TYPES[: FORKS_OF_TYPES.index(fork) + 1] if fork in FORKS_OF_TYPES else ()
    config: dict[str, Any] = {f"{name}Block": 0 for name in FORKS} | {"chainId": CHAIN_ID}
    config |= {f"{name}Block": 0 for name in active[:2]} | {f"{name}Time": 0 for name in active[2:]}
    if "london" in active:
        config["terminalTotalDifficulty"] = 0
    genesis = {"config": config, "difficulty": "0x1", "gasLimit": hex(60_000_000), "alloc": {}}
    return ChainSpec(json.dumps(genesis).encode())


def head_of(spec: ChainSpec) -> bytes:
    """Return the header row of the chain's genesis."""
    return spec.genesis_block().header
