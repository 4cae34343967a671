"""A chain with a contract that stores what it is sent, and transactions that send it something."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.sync.forks import genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.state import address_of, sign_transaction

SECRET = bytes([7]) * 32
SENDER = address_of(SECRET)
COUNTER = bytes([0x13]) * 20
# Asked with any input, it returns what it stored.
CODE = "0x36600857345f55005b5f545f5260205ff3"


@contextmanager
def counter_chain(folder: Path) -> Iterator[Chain]:
    """Open a new chain with the contract and a rich sender."""
    members = json.loads(genesis(merged=True))
    members["alloc"] = {
        SENDER.hex(): {"balance": "0x" + "f" * 20},
        COUNTER.hex(): {"balance": "0x0", "code": CODE},
    }
    with Chain.open(folder, json.dumps(members).encode(), writer=True, durable=False) as chain:
        yield chain


def sending(nonce: int, value: int) -> bytes:
    """Return a transaction that sends `value` wei to the contract."""
    return sign_transaction(
        SECRET,
        chain_id=1,
        nonce=nonce,
        to=COUNTER,
        value=value,
        input=b"",
        gas=100_000,
        max_fee=10**10,
        max_priority_fee=1,
    )
