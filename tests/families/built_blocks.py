"""Blocks of each family whose hashes, roots, blooms, signatures and proofs hold; nothing of them is executed.

Each has transactions of its family's own types beside signed ones, and a log of each transaction. The state
after a block is that of one contract, whose slot 0 has the block's number.
"""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, NamedTuple

import msgspec
from eth_account import Account

from tests.ethereum.partial_trie import EMPTY_ROOT, WholeTrie, ordered_root, path_of
from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.codec.rlp import Item, encode, number
from wsnode.ethereum.codec.transactions import sign_transaction
from wsnode.ethereum.primitives.values import hexadecimal

SECRET: Final = b"\x01" * 32
SIGNER: Final = bytes.fromhex(Account.from_key(SECRET).address[2:])
CONTRACT, RECIPIENT, SENDER = b"\xc0\xde" * 10, b"\x22" * 20, b"\x11" * 20
CODE: Final = bytes.fromhex("5f545f5260205ff3")
"""Returns slot 0."""
TOPIC: Final = b"\x77" * 32
GAS: Final = 50_000
"""Used by each transaction."""
EMPTY_LIST_HASH: Final = keccak256(b"\xc0")
SEAL: Final = bytes(32) + b"\x5e" * 65
"""Extra data with a producer's signature, which nobody checks."""


class Place(NamedTuple):
    """Where a block stands."""

    parent: bytes
    number: int
    time: int
    salt: int
    """Makes blocks at one place differ."""


class Entry(NamedTuple):
    """A transaction with what is told of it: its receipt has one log."""

    envelope: bytes
    gas: int = GAS
    receipt_tail: Sequence[bytes] = ()
    told: Mapping[str, str] = MappingProxyType({})
    """Members of its receipt in JSON that are its family's own."""


class Header(NamedTuple):
    """Members of a header that are the family's."""

    gas_limit: int
    difficulty: int = 0
    extra_data: bytes = b""
    mix_hash: bytes = bytes(32)
    nonce: bytes = bytes(8)
    later: Sequence[bytes] = ()
    """From the base fee on."""


class Block(NamedTuple):
    """A block as an upstream gives it."""

    encoded: bytes
    receipts: bytes
    """In JSON."""
    state: "State"


class State:
    """The state after a block: one contract, and a slot of it."""

    def __init__(self, value: int) -> None:
        self._value = value
        self._storage = WholeTrie({path_of(bytes(32)): encode(number(value))})
        account: list[Item] = [number(1), number(value), self._storage.root(), keccak256(CODE)]
        self._accounts = WholeTrie({path_of(CONTRACT): encode(account)})
        self.root = self._accounts.root()

    def proof(self, address: str, slots: Sequence[str]) -> dict[str, Any]:
        """Return what eth_getProof answers of the contract, or of an account that does not exist."""
        is_there = address == hexadecimal(CONTRACT)
        storage = self._storage if is_there else WholeTrie({})
        return {
            "address": address,
            "accountProof": shown(self._accounts.proof(path_of(bytes.fromhex(address[2:])))),
            "balance": hex(self._value if is_there else 0),
            "codeHash": hexadecimal(keccak256(CODE if is_there else b"")),
            "nonce": hex(is_there),
            "storageHash": hexadecimal(storage.root()),
            "storageProof": [self._slot(storage, slot) for slot in slots],
        }

    def _slot(self, storage: WholeTrie, slot: str) -> dict[str, Any]:
        key = int(slot, 16).to_bytes(32, "big")
        value = self._value if storage is self._storage and not any(key) else 0
        return {"key": slot, "value": hex(value), "proof": shown(storage.proof(path_of(key)))}


def shown(values: Sequence[bytes]) -> list[str]:
    return [hexadecimal(each) for each in values]


class Log(NamedTuple):
    """A log of a transaction."""

    address: bytes
    topics: list[bytes]
    data: bytes

    @property
    def item(self) -> list[Item]:
        """Return what is encoded in its receipt."""
        return [self.address, list(self.topics), self.data]


def log_of(position: int, place: Place) -> Log:
    """Return the log of a block's transaction."""
    return Log(CONTRACT, [TOPIC, position.to_bytes(32, "big")], place.salt.to_bytes(32, "big"))


def bloom_of(log: Log) -> bytes:
    """Return the bloom of a log: three bits for its address and each topic (Yellow Paper, section 4.3.1)."""
    bits = 0
    for value in (log.address, *log.topics):
        hashed = keccak256(value)
        for place in (0, 2, 4):
            bits |= 1 << (int.from_bytes(hashed[place : place + 2], "big") & 2047)
    return bits.to_bytes(256, "big")


def build(header: Header, place: Place, entries: Sequence[Entry]) -> Block:
    """Return the block of these transactions, each with a receipt."""
    rows, told, bloom, gas = [], [], 0, 0
    for position, entry in enumerate(entries):
        log, gas = log_of(position, place), gas + entry.gas
        own = bloom_of(log)
        bloom |= int.from_bytes(own, "big")
        kind = b"" if entry.envelope[0] >= 0xC0 else entry.envelope[:1]
        receipt: list[Item] = [b"\x01", number(gas), own, [log.item], *entry.receipt_tail]
        rows.append(kind + encode(receipt))
        told.append({**told_receipt(kind, gas, own, log), **entry.told})
    state = State(place.number)
    roots = [state.root, ordered_root([each.envelope for each in entries]), ordered_root(rows)]
    members: list[Item] = [
        place.parent,
        EMPTY_LIST_HASH,
        bytes(20),
        *roots,
        bloom.to_bytes(256, "big"),
        number(header.difficulty),
        number(place.number),
        number(header.gas_limit),
        number(gas),
        number(place.time),
        header.extra_data,
        header.mix_hash,
        header.nonce,
        *header.later,
    ]
    has_withdrawals = len(header.later) > 1
    # A legacy transaction is a list among those of the block, any other one a string.
    body = b"".join(each.envelope if each.envelope[0] >= 0xC0 else encode(each.envelope) for each in entries)
    parts = [encode(members), list_of(body), b"\xc0", *([b"\xc0"] if has_withdrawals else [])]
    return Block(list_of(b"".join(parts)), msgspec.json.encode(told), state)


def list_of(content: bytes) -> bytes:
    """Return the RLP of a list of encoded items."""
    size = len(content)
    if size <= 55:
        return bytes([0xC0 + size]) + content
    written = number(size)
    return bytes([0xF7 + len(written)]) + written + content


def told_receipt(kind: bytes, gas: int, bloom: bytes, log: Log) -> dict[str, Any]:
    """Return a receipt as nodes tell it."""
    written = {
        "address": hexadecimal(log.address),
        "topics": shown(log.topics),
        "data": hexadecimal(log.data),
    }
    return {
        "type": hex(kind[0] if kind else 0),
        "status": "0x1",
        "cumulativeGasUsed": hex(gas),
        "logsBloom": hexadecimal(bloom),
        "logs": [written],
    }


def signed(place: Place, chain_id: int, *, is_legacy: bool = False, base_fee: int = 0) -> bytes:
    """Return a transaction with a signature, which pays nothing beyond the base fee."""
    return sign_transaction(
        SECRET,
        chain_id=chain_id,
        nonce=place.salt,
        to=CONTRACT,
        value=1,
        input=b"\x01\x02",
        gas=GAS,
        gas_price=base_fee if is_legacy else None,
        max_fee=None if is_legacy else base_fee,
        max_priority_fee=None if is_legacy else 0,
    )


GWEI: Final = 10**9
NO_REQUESTS: Final = sha256().digest()


def since_prague(base_fee: int, withdrawals_root: bytes, blob_gas_used: bytes = b"") -> list[bytes]:
    """Return the members of a header from the base fee on."""
    return [number(base_fee), withdrawals_root, blob_gas_used, b"", bytes(32), NO_REQUESTS]


def of_gnosis(place: Place) -> Block:
    """Half of the gas is used, so that the base fee stays."""
    entries = [
        Entry(signed(place, 100, base_fee=GWEI)),
        Entry(signed(place, 100, is_legacy=True, base_fee=GWEI)),
    ]
    return build(Header(4 * GAS, later=since_prague(GWEI, EMPTY_ROOT)), place, entries)


def of_linea(place: Place) -> Block:
    header = Header(2_000_000_000, difficulty=2, extra_data=SEAL, later=[number(7)])
    return build(header, place, [Entry(signed(place, 59144, base_fee=7))])


def of_bsc(place: Place) -> Block:
    """Its last transaction is of the producer, for nothing; the milliseconds of the time are in mixHash."""
    entries = [Entry(signed(place, 56)), Entry(signed(place, 56, is_legacy=True))]
    millis = (450 * place.number % 1000).to_bytes(32, "big")
    header = Header(
        60_000_000,
        difficulty=2,
        extra_data=SEAL,
        mix_hash=millis,
        later=since_prague(0, EMPTY_ROOT),
    )
    return build(header, place, entries)


def of_polygon(place: Place) -> Block:
    state_sync = b"\x7f" + encode([[number(place.salt), RECIPIENT, b"\x01", bytes(32)]])
    entries = [Entry(signed(place, 137, base_fee=GWEI)), Entry(state_sync, gas=0)]
    header = Header(60_000_000, difficulty=21, extra_data=SEAL, later=[number(GWEI)])
    return build(header, place, entries)


L1_BASE_FEE, L1_BLOB_FEE, L1_SCALAR, L1_BLOB_SCALAR, FOOTPRINT_SCALAR = 5 * GWEI, 3, 2_269, 1_055_762, 400
ATTRIBUTES: Final = bytes.fromhex("4200000000000000000000000000000000000015")
BASE_TIME: Final = bytes.fromhex("4200000000000000000000000000000000000030")
L1_SENDER: Final = bytes.fromhex("deaddeaddeaddeaddeaddeaddeaddeaddead0001")


def l1_attributes(place: Place) -> bytes:
    """Return the input of the first deposit since Jovian: its values are packed (specs.optimism.io)."""
    parts = (
        (L1_SCALAR, 4),
        (L1_BLOB_SCALAR, 4),
        (place.number, 8),
        (place.time, 8),
        (20_000_000, 8),
        (L1_BASE_FEE, 32),
        (L1_BLOB_FEE, 32),
        (place.salt, 32),
        (7, 32),
        (0, 4),
        (0, 8),
        (FOOTPRINT_SCALAR, 2),
    )
    return bytes.fromhex("3db6be2b") + b"".join(value.to_bytes(size, "big") for value, size in parts)


def deposit(to: bytes, place: Place, data: bytes) -> Entry:
    """Return a deposit without a mint; its receipt in the root has its nonce and a version."""
    source = keccak256(to + place.salt.to_bytes(32, "big"))
    members: list[Item] = [source, L1_SENDER, to, b"", b"", number(1_000_000), b"", data]
    nonce = number(place.number)
    return Entry(
        b"\x7e" + encode(members),
        receipt_tail=(nonce, b"\x01"),
        told={"depositNonce": hex(place.number), "depositReceiptVersion": "0x1"},
    )


def of_base(place: Place) -> Block:
    """Two deposits, as since Denim; the footprint of data is below the gas used, half of the limit."""
    entries = [
        deposit(ATTRIBUTES, place, l1_attributes(place)),
        deposit(BASE_TIME, place, number(place.number)),
        Entry(signed(place, 8453, base_fee=GWEI)),
    ]
    terms = ((1, 1), (250, 4), (2, 4), (1, 8))
    header = Header(
        2 * 3 * GAS,
        extra_data=b"".join(value.to_bytes(size, "big") for value, size in terms),
        later=since_prague(GWEI, b"\x99" * 32, number(100 * FOOTPRINT_SCALAR)),
    )
    return build(header, place, entries)


ARBITRUM: Final = number(42161)
REQUEST, TICKET = b"\x33" * 32, b"\x44" * 32
ARBITRUM_TYPES: Final = (0x64, 0x65, 0x66, 0x68, 0x69)


def arbitrum_transaction(kind: int, place: Place) -> bytes:
    """Return a transaction of a type of ArbOS; it differs by the place's salt."""
    value, fees = number(place.salt), [number(GWEI), number(GAS), RECIPIENT]
    members: dict[int, list[Item]] = {
        0x64: [ARBITRUM, REQUEST, SENDER, RECIPIENT, value],
        0x65: [ARBITRUM, SENDER, number(3), *fees, value, b"\x07"],
        0x66: [ARBITRUM, REQUEST, SENDER, *fees, value, b"\x07"],
        0x68: [ARBITRUM, number(2), SENDER, *fees, value, b"\x07", TICKET, SENDER, number(8), number(9)],
        0x69: [
            *[ARBITRUM, REQUEST, SENDER, number(11), number(12), *fees, value],
            *[SENDER, number(14), SENDER, b"\x07"],
        ],
    }
    return bytes([kind]) + encode(members[kind])


def of_arbitrum(place: Place) -> Block:
    """The internal transaction, one of another type of ArbOS, and a signed one."""
    internal = b"\x6a" + encode([ARBITRUM, b"\x6b\xf6\xa4\x2d" + place.number.to_bytes(32, "big")])
    own = arbitrum_transaction(ARBITRUM_TYPES[place.number % len(ARBITRUM_TYPES)], place)
    entries = [
        Entry(internal, gas=0),
        Entry(own, told={"gasUsedForL1": "0x99"}),
        Entry(signed(place, 42161, base_fee=GWEI // 100)),
    ]
    positions = (9, 8), (18_563_000 + place.number, 8), (40, 8), (0, 8)
    header = Header(
        1 << 50,
        difficulty=1,
        extra_data=b"\x66" * 32,
        mix_hash=b"".join(value.to_bytes(size, "big") for value, size in positions),
        nonce=(5).to_bytes(8, "big"),
        later=[number(GWEI // 100)],
    )
    return build(header, place, entries)


MAKERS: Final[dict[str, Callable[[Place], Block]]] = {
    "arbitrum": of_arbitrum,
    "base": of_base,
    "bsc": of_bsc,
    "gnosis": of_gnosis,
    "linea": of_linea,
    "polygon": of_polygon,
}
