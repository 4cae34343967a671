"""Random programs that seldom fail before they have done something."""

import random
from collections.abc import Iterator

RANGES = (
    # First and last opcode, how many words they take, how many they leave.
    *((0x01, 0x07, 2, 1), (0x08, 0x09, 3, 1), (0x0A, 0x0B, 2, 1), (0x10, 0x14, 2, 1), (0x15, 0x15, 1, 1)),
    *((0x16, 0x18, 2, 1), (0x19, 0x19, 1, 1), (0x1A, 0x1D, 2, 1), (0x1E, 0x1E, 1, 1), (0x20, 0x20, 2, 1)),
    *((0x30, 0x30, 0, 1), (0x31, 0x31, 1, 1), (0x32, 0x34, 0, 1), (0x35, 0x35, 1, 1), (0x36, 0x36, 0, 1)),
    *((0x37, 0x37, 3, 0), (0x38, 0x38, 0, 1), (0x39, 0x39, 3, 0), (0x3A, 0x3A, 0, 1), (0x3B, 0x3B, 1, 1)),
    *((0x3C, 0x3C, 4, 0), (0x3D, 0x3D, 0, 1), (0x3E, 0x3E, 3, 0), (0x3F, 0x40, 1, 1), (0x41, 0x48, 0, 1)),
    *((0x49, 0x49, 1, 1), (0x4A, 0x4A, 0, 1), (0x50, 0x50, 1, 0), (0x51, 0x51, 1, 1), (0x52, 0x53, 2, 0)),
    *((0x54, 0x54, 1, 1), (0x55, 0x55, 2, 0), (0x58, 0x5A, 0, 1), (0x5B, 0x5B, 0, 0), (0x5C, 0x5C, 1, 1)),
    *((0x5D, 0x5D, 2, 0), (0x5E, 0x5E, 3, 0), (0x5F, 0x5F, 0, 1), (0xF0, 0xF0, 3, 1), (0xF1, 0xF2, 7, 1)),
    *((0xF4, 0xF4, 6, 1), (0xF5, 0xF5, 4, 1), (0xFA, 0xFA, 6, 1)),
)
ARITY = {
    opcode: (taken, left) for first, last, taken, left in RANGES for opcode in range(first, last + 1)
} | {0xA0 + topics: (topics + 2, 0) for topics in range(5)}
"""Opcodes that go on with the next one, but pushes, copies and exchanges of words."""
CALLS = (0xF1, 0xF2, 0xF4, 0xFA)
COSTLY = (*CALLS, 0xF0, 0xF5, 0x55, 0x5D, 0x5E)
"""More interesting than the others."""
SMALL = (0, 1, 2, 3, 31, 32, 33, 64, 100)
LARGE = (2**64 - 1, 2**64, 2**255, 2**256 - 1, 2**256 - 32)
ENDS = (*("60405ff3",) * 6, "60205ffd", "33ff", "fe", "0c", "00", "", "01", "600056")
"""RETURN, REVERT, SELFDESTRUCT, INVALID, undefined, STOP, the code's end, no operands, a wrong jump."""


def program(chance: random.Random, addresses: list[int]) -> bytes:
    """Return code that may call some of `addresses`."""
    height, code = 0, b""
    for _ in range(chance.randint(3, 25)):
        if chance.random() < 0.15 and 0 < height < 16:
            code += bytes((0x80 + chance.randrange(height),))
            height += 1
        opcode = chance.choice(COSTLY if chance.random() < 0.4 else tuple(ARITY))
        taken, left = ARITY[opcode]
        code += b"".join(map(push, operands(chance, opcode, taken, addresses))) + bytes((opcode,))
        height += left
    return code + bytes.fromhex(chance.choice(ENDS))


def operands(chance: random.Random, opcode: int, count: int, addresses: list[int]) -> Iterator[int]:
    """Yield words to push, the last one on top of the stack."""
    words = [word(chance, addresses) for _ in range(count)]
    if opcode in CALLS:
        # The gas is on top, and below it the address.
        words[-1], words[-2] = chance.choice((0, 700, 30_000, 2**64)), chance.choice(addresses)
    return iter(words)


def word(chance: random.Random, addresses: list[int]) -> int:
    """Return a word, mostly one that a program can afford as a size."""
    draw = chance.random()
    if draw < 0.01:
        return chance.choice(LARGE)
    return chance.choice(addresses) if draw < 0.07 else chance.choice(SMALL)


def push(value: int) -> bytes:
    """Return the instruction that pushes a word."""
    size = max(1, (value.bit_length() + 7) // 8)
    return bytes((0x5F + size,)) + value.to_bytes(size)
