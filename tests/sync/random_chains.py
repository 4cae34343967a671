"""Random proof-of-stake chains, built by the block builder, that pass from Shanghai to Osaka."""

import json
import random
from pathlib import Path
from typing import Any

from tests.ethereum.specification.programs import program
from tests.sync.forks import encode
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.genesis import demo_genesis
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rows import block_rlp
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.state import sign_transaction

FORKS = ("cancunTime", "pragueTime", "osakaTime")
GAS = 300_000
GWEI = 10**9
PRECOMPILES = range(1, 12)


def random_genesis(seconds: int) -> bytes:
    """Return the demo's genesis, with a fork at a fixed interval of seconds."""
    genesis: dict[str, Any] = json.loads(demo_genesis())
    start = int(genesis["timestamp"], 16)
    genesis["config"] |= {name: start + seconds * place for place, name in enumerate(FORKS, start=1)}
    return json.dumps(genesis).encode()


class Traffic:
    """Signs random transactions that a block builder takes, whatever comes of them."""

    def __init__(self, chance: random.Random, chain_id: int) -> None:
        self.chance = chance
        self._chain_id = chain_id
        self._nonces = dict.fromkeys(ACCOUNTS, 0)
        self._contracts = list[bytes]()

    def transaction(self) -> bytes:
        """Return the next transaction of a random account: a creation, or a call or transfer to another."""
        sender = self.chance.choice(ACCOUNTS)
        nonce = self._nonces[sender]
        self._nonces[sender] += 1
        if self.chance.random() < 0.3:
            to, content = None, creation(self._code())
            self._contracts.append(created_address(sender.address, nonce))
        else:
            to, content = self._anybody(), self.chance.randbytes(self.chance.choice((0, 4, 68)))
        return sign_transaction(
            sender.secret,
            chain_id=self._chain_id,
            nonce=nonce,
            to=to,
            value=self.chance.choice((0, 1, GWEI)),
            input=content,
            gas=GAS,
            **self._fees(),
        )

    def _code(self) -> bytes:
        known = [int.from_bytes(each) for each in [*self._contracts, ACCOUNTS[0].address]]
        return program(self.chance, [*PRECOMPILES, *known])

    def _anybody(self) -> bytes:
        fresh = self.chance.randbytes(20)
        return self.chance.choice([*self._contracts * 3, ACCOUNTS[1].address, fresh])

    def _fees(self) -> dict[str, Any]:
        """Return the members that tell one type of transaction from another."""
        entry = {"address": f"0x{self._anybody().hex()}", "storageKeys": ["0x" + "00" * 32]}
        access_list = json.dumps([entry]).encode()
        dynamic = {"max_fee": 100 * GWEI, "max_priority_fee": self.chance.choice((0, GWEI))}
        priced = {"gas_price": 100 * GWEI}
        kinds: list[dict[str, Any]] = [priced, priced | {"access_list": access_list}, dynamic]
        return self.chance.choice([*kinds, dynamic | {"access_list": access_list}])


def creation(code: bytes) -> bytes:
    """Return the input that creates a contract with `code`."""
    return bytes.fromhex(f"61{len(code):04x}80600a5f395ff3") + code


def created_address(sender: bytes, nonce: int) -> bytes:
    """Return where a transaction creates its contract."""
    number = nonce.to_bytes((nonce.bit_length() + 7) // 8)
    return keccak256(encode([sender, number]))[12:]


def build(folder: Path, genesis: bytes, chance: random.Random, blocks: int, most: int) -> list[bytes]:
    """Return the RLP of a chain's blocks, each with up to `most` transactions."""
    with Chain.open(folder, genesis, writer=True, durable=False) as chain:
        builder, traffic = BlockBuilder(chain), Traffic(chance, chain.spec.chain_id)
        for _ in range(blocks):
            built = builder.append(
                [traffic.transaction() for _ in range(chance.randint(0, most))],
                timestamp=builder.tip.timestamp + chance.randint(1, 20),
                fee_recipient=chance.choice(ACCOUNTS).address,
            )
            assert not built.refused, built.refused
        with chain.snapshot() as snapshot:
            return [
                block_rlp(snapshot.header(number) or b"", snapshot.body(number) or b"")
                for number in range(1, blocks + 1)
            ]
