"""Branches of proof-of-work and proof-of-stake chains, written from one genesis by chains of their own."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from wsnode.ethereum.appender import Appender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rows import block_rlp, header_fields
from wsnode.ethereum.development.builder import BlockBuilder
from wsnode.ethereum.state import InvalidBlockError

GAS_LIMIT = 30_000_000
EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
NO_OMMERS = bytes.fromhex("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
UNTIL_CANCUN = {"shanghaiTime": 0, "cancunTime": 0, "terminalTotalDifficulty": 0}

RlpItem = bytes | list[Any]


def genesis(*, merged: bool) -> bytes:
    names = ("homestead", "eip150", "eip155", "eip158", "byzantium")
    config: dict[str, Any] = {f"{name}Block": 0 for name in names} | {"chainId": 1}
    if merged:
        later = ("constantinople", "petersburg", "istanbul", "berlin", "london")
        config |= {f"{name}Block": 0 for name in later} | UNTIL_CANCUN
        config["blobSchedule"] = {"cancun": {"target": 3, "max": 6, "baseFeeUpdateFraction": 3338477}}
    return json.dumps(
        {
            "config": config,
            "difficulty": hex(0 if merged else 1 << 20),
            "gasLimit": hex(GAS_LIMIT),
            "extraData": "0x",
            "nonce": "0x0",
            "timestamp": "0x0",
            "alloc": {},
        }
    ).encode()


class Branch:
    """A chain of its own whose blocks are written to be imported elsewhere."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._appender = Appender(chain)

    def take(self, encoded: bytes) -> None:
        """Follow another branch by one block."""
        error = self._extend(encoded)
        assert error is None, str(error)

    def mine(self, *, coinbase: int, seconds: int = 10) -> bytes:
        """Return a new empty proof-of-work block; less time since its parent makes it more difficult."""
        with self.chain.snapshot() as snapshot:
            row = snapshot.header(snapshot.number)
            assert row is not None
            parent = header_fields(row)
        fields = {
            "parent_hash": parent.hash,
            "ommers_hash": NO_OMMERS,
            "coinbase": coinbase.to_bytes(20, "big"),
            "state_root": bytes(32),
            "transactions_root": EMPTY_ROOT,
            "receipts_root": EMPTY_ROOT,
            "logs_bloom": bytes(256),
            "difficulty": _integer(parent.difficulty),
            "number": _integer(parent.number + 1),
            "gas_limit": _integer(parent.gas_limit),
            "gas_used": b"",
            "timestamp": _integer(parent.timestamp + seconds),
            "extra_data": b"",
            "mix_hash": bytes(32),
            "nonce": bytes(8),
        }
        # The engine says what it computed, so the test needs no difficulty formula and no trie.
        for _ in range(3):
            encoded = encode([list(fields.values()), [], []])
            error = self._extend(encoded)
            if error is None:
                return encoded
            fields[error.rule] = _computed(error)
        raise AssertionError(str(error))

    def _extend(self, encoded: bytes) -> InvalidBlockError | None:
        blocks, error = decode_blocks(self.chain.spec, [encoded])
        assert error is None, str(error)
        extension = self._appender.extend(blocks)
        self._appender.store(self._appender.take_pending())
        return extension.error


@contextmanager
def branch(folder: Path) -> Iterator[Branch]:
    """A proof-of-work branch."""
    with Chain.open(folder, genesis(merged=False), writer=True, durable=False) as chain:
        yield Branch(chain)


def staked(folder: Path, recipients: list[int]) -> list[bytes]:
    """Return the blocks of a proof-of-stake chain, one for each fee recipient."""
    with Chain.open(folder, genesis(merged=True), writer=True, durable=False) as chain:
        builder = BlockBuilder(chain)
        for number, recipient in enumerate(recipients, 1):
            builder.append([], timestamp=12 * number, fee_recipient=recipient.to_bytes(20, "big"))
        with chain.snapshot() as snapshot:
            return [
                block_rlp(snapshot.header(number) or b"", snapshot.body(number) or b"")
                for number in range(1, len(recipients) + 1)
            ]


def encode(item: RlpItem) -> bytes:
    """Return the RLP of bytes and lists of them."""
    if isinstance(item, bytes):
        return item if len(item) == 1 and item[0] < 0x80 else _head(0x80, len(item)) + item
    content = b"".join(map(encode, item))
    return _head(0xC0, len(content)) + content


def _head(base: int, size: int) -> bytes:
    if size < 56:
        return bytes([base + size])
    length = _integer(size)
    return bytes([base + 55 + len(length)]) + length


def _integer(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _computed(error: InvalidBlockError) -> bytes:
    if error.rule == "difficulty":
        return _integer(int(error.expected, 0))
    assert error.rule == "state_root", str(error)
    return bytes.fromhex(error.expected[2:])
