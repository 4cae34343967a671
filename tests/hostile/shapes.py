"""Texts of a size, of the shapes that are known to be worst to read."""

from collections.abc import Callable, Mapping

ADDRESS = b'"0x' + b"00" * 20 + b'"'
WORD = b'"0x' + b"00" * 32 + b'"'


def _repeated(item: bytes, size: int) -> bytes:
    return b",".join([item] * max(1, size // (len(item) + 1)))


def _members(size: int) -> bytes:
    return b"{" + b",".join(b'"%x":0' % number for number in range(size // 10)) + b"}"


def _slots(size: int) -> bytes:
    return b",".join(b'"0x%064x":"0x%064x"' % (number, number) for number in range(size // 138))


VALUES: Mapping[str, Callable[[int], bytes]] = {
    "zeros": lambda size: b"[" + _repeated(b"0", size) + b"]",
    "empty strings": lambda size: b"[" + _repeated(b'""', size) + b"]",
    "empty arrays": lambda size: b"[" + _repeated(b"[]", size) + b"]",
    "a long word": lambda size: b'"' + b"z" * size + b'"',
    "digits": lambda size: b'"0x' + b"0" * (size | 1) + b'"',
    "a long number": lambda size: b"9" * size,
    "escapes": lambda size: b'"' + rb"\u00e9" * (size // 6) + rb'\ud800"',
    "words": lambda size: b'"' + b"a b " * (size // 4) + b'"',
    "members": _members,
    "addresses": lambda size: b"[" + _repeated(ADDRESS, size) + b"]",
    "filter of addresses": lambda size: b'{"address":[' + _repeated(ADDRESS, size) + b"]}",
    "filter of topics": lambda size: b'{"topics":[[' + _repeated(WORD, size) + b"]]}",
    "a topic of odd length": lambda size: b'{"topics":["0x' + b"0" * (size | 1) + b'"]}',
    "access list": lambda size: (
        b'{"accessList":[{"address":%b,"storageKeys":[%b]}]}' % (ADDRESS, _repeated(WORD, size))
    ),
    "overrides": lambda size: b'{%b:{"stateDiff":{%b}}}' % (ADDRESS, _slots(size)),
    "a long duration": lambda size: b'{"timeout":"' + b"1ns" * (size // 3) + b'"}',
    "a long name": lambda size: b'{"tracer":"' + b"a" * size + b'"}',
}
"""Values, by what they are, for a size in bytes."""


def deep(size: int) -> bytes:
    """Return arrays in arrays."""
    return b"[" * (size // 2) + b"]" * (size // 2)


def message(method: str, params: bytes, identity: bytes = b"1") -> bytes:
    """Return a request with parameters as they are."""
    return b'{"jsonrpc":"2.0","id":%b,"method":"%b","params":%b}' % (identity, method.encode(), params)


MESSAGES: Mapping[str, Callable[[int], bytes]] = {
    "half a character as id": lambda size: message("x", b"[" + _repeated(b"0", size) + b"]", rb'"\ud800"'),
    "a batch of zeros": lambda size: b"[" + _repeated(b"0", size) + b"]",
    "a batch of empty objects": lambda size: b"[" + _repeated(b"{}", size) + b"]",
    "a batch of one": lambda size: b"[" + message("x", b"[" + _repeated(b"0", size) + b"]") + b"]",
    "a batch of half characters": lambda size: b"[" + _repeated(rb'"\ud800"', size) + b"]",
    "no request": lambda size: _members(size),
    "members besides": lambda size: b'{"jsonrpc":"2.0","id":1,"method":3,' + _members(size)[1:],
    "a long method": lambda size: message("a" * size, b"[]"),
    "a long id": lambda size: message("web3_clientVersion", b"[]", b'"' + b"a" * size + b'"'),
    "no text": lambda size: b"\xff" * size,
    "nearly JSON": lambda size: message("web3_clientVersion", b"[" + _repeated(b"0", size) + b",]"),
    "spaces": lambda size: message("web3_clientVersion", b"[" + b" " * size + b"]"),
    "too deep": lambda size: message("web3_clientVersion", deep(size)),
}
"""Whole messages, by what they are, for a size in bytes."""
