"""Messages to the console, beside the lines that anvil 1.7.1 prints of them."""

from collections.abc import Iterator
from itertools import product

import pytest

from wsnode.demo.terminal.console_log import line_of
from wsnode.ethereum.codec.blocks import keccak256

OWNER = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
Argument = int | str | bool | bytes


def encoded(signature: str, *values: Argument) -> bytes:
    """Return the input of a call, ABI-encoded."""
    heads, tail = [], b""
    for value in values:
        if isinstance(value, str) and value != OWNER:
            heads.append((32 * len(values) + len(tail)).to_bytes(32, "big"))
            content = value.encode()
            tail += len(content).to_bytes(32, "big") + content + bytes(-len(content) % 32)
        elif isinstance(value, bytes):
            heads.append(value.ljust(32, b"\0"))
        else:
            number = int(value, 16) if isinstance(value, str) else int(value)
            heads.append(number.to_bytes(32, "big", signed=number < 0))
    return keccak256(signature.encode())[:4] + b"".join(heads) + tail


@pytest.mark.parametrize(
    ("kinds", "values", "line"),
    [
        ("string", ("hello %s",), "hello %s"),
        ("string", ("100%% %",), "100% %"),
        ("string,uint256", ("n %d", 7), "n 7"),
        ("string,uint256,bool,address", ("a %s b %s", 7, True, OWNER), f"a 7 b true {OWNER}"),
        ("address,bool", (OWNER, False), f"{OWNER} false"),
        ("uint256,uint256", (3, 4), "3 4"),
        ("bool,string", (True, "%d"), "true %d"),
        ("int256", (-5,), "-5"),
        ("uint", (5,), "5"),
        ("bytes4", (bytes.fromhex("12345678"),), "0x12345678"),
        ("string,string", ("%x|%o|%i|%%|%q|%", "zz"), "NaN|%o|%i|%|%q|%"),
        ("string,uint256,uint256,uint256", ("%x %e %o", 255, 1_200_000_000, 3), "0xff 1.2e9 3"),
        ("string,bool,bool,bool", ("%x %d %o", True, True, False), "NaN 1 'false'"),
        ("string,address,address,address", ("%x %d %o", OWNER, OWNER, OWNER), f"{OWNER} NaN '{OWNER}'"),
        ("string,uint256", ("%3e", 1_234_567), "1234.567"),
        ("string,uint256", ("%18e", 1_234_567), "0.000000000001234567"),
        ("string,uint256", ("%0e", 1_234_567), "1234567"),
        ("string,uint256", ("%e", 0), "0e0"),
        ("string,uint256", ("%e", 7), "7e0"),
        ("string,string", ("%o", "abc"), "'abc'"),
        ("string,string", ("%i", "12"), "NaN"),
        ("string,bool", ("%i", True), "NaN"),
        ("string,uint256", ("%", 7), "% 7"),
        ("string,uint256", ("%%s", 7), "%s 7"),
        ("string,uint256", ("", 7), "7"),
        ("string,string", ("", ""), ""),
        ("string,string", ("a", ""), "a "),
        ("string,string,string", ("%s", "", "b"), " b"),
        ("string,uint256", ("%5d", 7), "%5d 7"),
        ("string,uint256", ("%X", 255), "%X 255"),
        ("string,uint256", ("%d%", 3), "3%"),
        ("string,uint256", ("%%%d", 3), "%3"),
    ],
)
def test_a_message_is_printed_as_by_anvil(kinds: str, values: tuple[Argument, ...], line: str) -> None:
    assert line_of(encoded(f"log({kinds})", *values)) == line


SAMPLES: dict[str, tuple[Argument, str]] = {
    "uint256": (7, "7"),
    "uint": (8, "8"),
    "string": ("x", "x"),
    "bool": (True, "true"),
    "address": (OWNER, OWNER),
}


def every_function(number: str = "uint256") -> Iterator[tuple[bytes, str]]:
    """Yield a call of each function of the library, and its line; older ones have `uint` for a number."""
    for count in range(1, 5):
        for names in product(("string", "bool", "address", number), repeat=count):
            message = encoded(f"log({','.join(names)})", *(SAMPLES[name][0] for name in names))
            yield message, " ".join(SAMPLES[name][1] for name in names)
    for size in range(1, 33):
        yield encoded(f"log(bytes{size})", b"\xab" * size), f"0x{'ab' * size}"
    yield encoded("log(int256)", -5), "-5"
    # A value of 3 bytes, behind its offset and its size.
    yield encoded("log(bytes)", 32, 3, b"\0\xff\x10"), "0x00ff10"
    yield encoded("log()"), ""


@pytest.mark.parametrize("number", ["uint256", "uint"])
def test_every_function_of_the_library_is_known(number: str) -> None:
    for message, line in every_function(number):
        assert line_of(message) == line


@pytest.mark.parametrize(
    "message", [b"", b"abc", b"\0" * 40, encoded("log(string)", "x")[:40], encoded("log(uint256)")]
)
def test_what_is_no_message_has_no_line(message: bytes) -> None:
    assert line_of(message) is None
