"""Blocks in RLP as payloads of the Engine API, by no code of the node."""

from typing import Any

FIELDS = (
    *("parentHash", "ommersHash", "feeRecipient", "stateRoot", "transactionsRoot", "receiptsRoot"),
    *("logsBloom", "difficulty", "blockNumber", "gasLimit", "gasUsed", "timestamp", "extraData"),
    *("prevRandao", "nonce", "baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas"),
    *("parentBeaconBlockRoot", "requestsHash"),
)
NUMBERS = {"blockNumber", "gasLimit", "gasUsed", "timestamp", "baseFeePerGas", "blobGasUsed", "excessBlobGas"}
BESIDE = {"ommersHash", "transactionsRoot", "difficulty", "nonce", "withdrawalsRoot"}
SIZES = {"feeRecipient": 20, "logsBloom": 256, "extraData": None}
WITHDRAWAL = ("index", "validatorIndex", "address", "amount")


class NoPayloadError(Exception):
    """The bytes are no block, or one that no payload stands for."""


def decoded(encoded: bytes) -> Any:
    """Return the strings and lists that RLP holds."""
    item, rest = _item(encoded)
    if rest:
        raise NoPayloadError("more than one item")
    return item


def _item(encoded: bytes) -> tuple[Any, bytes]:
    if not encoded:
        raise NoPayloadError("no item")
    first = encoded[0]
    if first < 0x80:
        return encoded[:1], encoded[1:]
    kind, size, start = (0x80, first - 0x80, 1) if first < 0xC0 else (0xC0, first - 0xC0, 1)
    if size > 55:
        start = size - 54
        size = int.from_bytes(encoded[1:start], "big")
    content, rest = encoded[start : start + size], encoded[start + size :]
    if len(content) < size:
        raise NoPayloadError("an item without its end")
    return (content if kind == 0x80 else _items(content)), rest


def _items(content: bytes) -> list[Any]:
    items = []
    while content:
        item, content = _item(content)
        items.append(item)
    return items


def encoded(item: Any) -> bytes:
    """Return the RLP of strings and lists."""
    content = b"".join(map(encoded, item)) if isinstance(item, list) else item
    if item == content and len(content) == 1 and content[0] < 0x80:
        return bytes(content)
    kind = 0xC0 if isinstance(item, list) else 0x80
    if len(content) <= 55:
        return bytes((kind + len(content),)) + content
    size = len(content).to_bytes((len(content).bit_length() + 7) // 8, "big")
    return bytes((kind + 55 + len(size),)) + size + content


def payload_of(block: bytes, block_hash: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """Return a block's payload, and what of its header is given beside it.

    Raises:
        NoPayloadError: There is none.
    """
    parts = decoded(block)
    if len(parts) not in (3, 4) or parts[2] or not isinstance(parts[0], list):
        raise NoPayloadError("a block of another form")
    header = dict(zip(FIELDS, parts[0], strict=False))
    if len(parts[0]) > len(FIELDS) or not all(isinstance(value, bytes) for value in header.values()):
        raise NoPayloadError("a header of another form")
    if (len(parts) == 4) != ("withdrawalsRoot" in header):
        raise NoPayloadError("withdrawals without a root, or a root without them")
    beside = {name: _bytes(header.pop(name)) for name in FIELDS[-2:] if name in header}
    payload: dict[str, Any] = {
        name: _value(name, value) for name, value in header.items() if name not in BESIDE
    }
    transactions = [each if isinstance(each, bytes) else encoded(each) for each in parts[1]]
    payload |= {"blockHash": _bytes(block_hash), "transactions": list(map(_bytes, transactions))}
    if len(parts) == 4:
        payload["withdrawals"] = [_withdrawal(each) for each in parts[3]]
    return payload, beside


def _withdrawal(items: list[bytes]) -> dict[str, str]:
    if len(items) != len(WITHDRAWAL) or len(items[2]) != 20:
        raise NoPayloadError("a withdrawal of another form")
    if any(len(items[place]) > 8 for place in (0, 1, 3)):
        raise NoPayloadError("a number of more than 64 bits")
    pairs = zip(WITHDRAWAL, items, strict=True)
    return {name: _bytes(value) if name == "address" else _quantity(value) for name, value in pairs}


def _value(name: str, value: bytes) -> str:
    if name in NUMBERS:
        if len(value) > (32 if name == "baseFeePerGas" else 8):
            raise NoPayloadError(f"{name} is too large a number")
        return _quantity(value)
    if (size := SIZES.get(name, 32)) is not None and len(value) != size:
        raise NoPayloadError(f"{name} of another size")
    return _bytes(value)


def _quantity(value: bytes) -> str:
    return hex(int.from_bytes(value, "big"))


def _bytes(value: bytes) -> str:
    return f"0x{value.hex()}"
