"""Typed structured data: the standard's example, what another library makes of any, and what is refused."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.codec.transactions import sign_digest
from wsnode.ethereum.codec.typed_data import TypedData, digest_of

PERSON = [{"name": "name", "type": "string"}, {"name": "wallet", "type": "address"}]
MAIL: dict[str, Any] = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "Person": PERSON,
        "Mail": [
            {"name": "from", "type": "Person"},
            {"name": "to", "type": "Person"},
            {"name": "contents", "type": "string"},
        ],
    },
    "primaryType": "Mail",
    "domain": {
        "name": "Ether Mail",
        "version": "1",
        "chainId": 1,
        "verifyingContract": "0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC",
    },
    "message": {
        "from": {"name": "Cow", "wallet": "0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826"},
        "to": {"name": "Bob", "wallet": "0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB"},
        "contents": "Hello, Bob!",
    },
}
COW = bytes.fromhex("c85ef7d79691fe79573b1a7064c19c1a9819ebdbd1faaab1a8ec92344438aaf4")


def digest(told: Any) -> bytes:
    return digest_of(msgspec.convert(told, TypedData))


def of_one(kind: str, value: Any, **types: Any) -> dict[str, Any]:
    """Return data with a single member."""
    members = {"One": [{"name": "it", "type": kind}], **types}
    return {"types": members, "primaryType": "One", "domain": {"name": "test"}, "message": {"it": value}}


def test_the_standards_example_is_signed_as_it_says() -> None:
    # The digest and the signature are those of the standard's own example (assets/eip-712/Example.js).
    found = digest(MAIL)
    assert found.hex() == "be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2"
    assert sign_digest(COW, found).hex() == (
        "4355c47d63924e8a72e509b65029052eb6c299d53a04e167c5775fd466751c9d"
        "07299936d304c153f6443dfa05f40ff007d72911b6f72307f996231605b91562"
        "1c"
    )


def test_a_domain_without_a_type_has_the_members_that_are_there() -> None:
    types = {name: members for name, members in MAIL["types"].items() if name != "EIP712Domain"}
    assert digest(MAIL | {"types": types}) == digest(MAIL)


def test_numbers_may_be_written_in_any_way_that_clients_do() -> None:
    ways = [10**18, str(10**18), hex(10**18), 1e18]
    assert len({digest(of_one("uint256", way)) for way in ways}) == 1
    assert digest(of_one("int8", -1)) == digest(of_one("int8", "-1")) != digest(of_one("int8", 1))


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("uint8", 256, "integer larger than 'uint8'"),
        ("int8", 128, "integer larger than 'int8'"),
        ("int8", "-129", "integer larger than 'int8'"),
        ("uint", -1, "invalid negative value for unsigned type uint"),
        ("uint8", 1.5, "provided data '1.5' doesn't match type 'uint8'"),
        ("uint8", True, "provided data 'true' doesn't match type 'uint8'"),
        ("bool", 1, "provided data '1' doesn't match type 'bool'"),
        ("string", None, "provided data 'null' doesn't match type 'string'"),
        ("address", "0x12", "provided data '0x12' doesn't match type 'address'"),
        ("bytes4", "0x123456", "provided data '0x123456' doesn't match type 'bytes4'"),
        ("bytes", "hello", "provided data 'hello' doesn't match type 'bytes'"),
        ("uint8[2]", [1], "provided data '[1]' doesn't match type 'uint8[2]'"),
        ("uint8[]", 1, "provided data '1' doesn't match type 'uint8[]'"),
        ("Two", 1, "provided data '1' doesn't match type 'Two'"),
        ("Three", {}, 'reference type "Three" is undefined'),
        ("uint7", 1, 'reference type "uint7" is undefined'),
        ("bytes33", "0x", 'reference type "bytes33" is undefined'),
        ("One", {}, 'type "One" cannot reference itself'),
        ("", 1, 'type "One":0: empty Type'),
        ("uint8" + "[]" * 64, None, "provided data 'null' doesn't match type 'uint8" + "[]" * 64 + "'"),
        ("uint8" + "[]" * 65, None, 'type "One":0: more than 64 arrays in one another'),
        ("uint8[" + "0" * 21 + "]", [], 'reference type "uint8[' + "0" * 21 + ']" is undefined'),
        ("a" * 1025, 1, '"' + "a" * 80 + '…" has more than 1024 characters'),
    ],
)
def test_what_does_not_fit_is_refused(kind: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError) as refused:
        digest(of_one(kind, value, Two=[{"name": "x", "type": "bool"}]))
    assert str(refused.value) == message


def test_a_primary_type_has_to_be_there() -> None:
    with pytest.raises(ValueError, match='reference type "Mall" is undefined'):
        digest(MAIL | {"primaryType": "Mall"})


def test_values_cannot_lie_in_one_another_without_end() -> None:
    value: dict[str, Any] = {"it": []}
    for _ in range(40):
        value = {"it": [value]}
    with pytest.raises(ValueError, match="more than 64 deep"):
        digest(of_one("One[]", [value]))


def members(count: int, kind: str = "bool", size: int = 0) -> list[dict[str, str]]:
    return [{"name": f"{number}".rjust(size, "m"), "type": kind} for number in range(count)]


def typed(**types: list[dict[str, str]]) -> dict[str, Any]:
    """Return data whose message is a domain, with types besides."""
    return {"types": types, "primaryType": "EIP712Domain", "domain": {"name": "test"}, "message": {}}


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (typed(**{f"T{n}": [] for n in range(255)}), None),
        (typed(**{f"T{n}": [] for n in range(256)}), "too many types: 257, want at most 256"),
        (typed(T=members(256)), None),
        (typed(T=members(257)), 'type "T": 257 members, want at most 256'),
        (typed(T=members(15, size=1024)), None),
        (typed(T=members(16, size=1024)), "the types have 16471 characters, want at most 16384"),
        (typed(T=[{"name": "x", "type": "bool"}] * 2), 'type "T" has two members of one name'),
    ],
)
def test_types_have_bounds(told: dict[str, Any], message: str | None) -> None:
    if message is None:
        assert digest(told)
        return
    with pytest.raises(ValueError) as refused:
        digest(told)
    assert str(refused.value) == message


def test_structs_that_all_name_each_other_are_hashed() -> None:
    # Each of these hashes is over the members of all of them.
    names = [f"S{number}" for number in range(40)]
    types = {name: [{"name": other, "type": f"{other}[]"} for other in names] for name in names}
    told = of_one("S0", {other: [{key: [] for key in names}] for other in names}, **types)
    assert len(digest(told)) == 32


def hexadecimal(sizes: st.SearchStrategy[bytes]) -> st.SearchStrategy[str]:
    return sizes.map(lambda content: "0x" + content.hex())


PRIMITIVES = st.sampled_from(
    ["uint8", "uint256", "int16", "int256", "bool", "string", "address", "bytes", "bytes5"]
)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "uint8": st.integers(0, 255),
    "uint256": st.integers(0, 2**256 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "int256": st.integers(-(2**255), 2**255 - 1),
    "bool": st.booleans(),
    "string": st.text(st.characters(exclude_categories=["Cs"])),
    "address": hexadecimal(st.binary(min_size=20, max_size=20)),
    "bytes": hexadecimal(st.binary(max_size=40)),
    "bytes5": hexadecimal(st.binary(min_size=5, max_size=5)),
}


PRIMITIVES = st.sampled_from(list(VALUES))
SUFFIXES = st.sampled_from(["", "[]", "[2]", "[][1]"])


@st.composite
def typed_data(draw: st.DrawFn) -> dict[str, Any]:
    """Return a message of structs that hold primitives, arrays and the structs after them."""
    names = [f"Struct{index}" for index in range(draw(st.integers(1, 4)))]
    types: dict[str, list[dict[str, str]]] = {"EIP712Domain": [{"name": "chainId", "type": "uint256"}]}
    for index, name in enumerate(names):
        kinds = PRIMITIVES | st.sampled_from(names[index + 1 :]) if names[index + 1 :] else PRIMITIVES
        chosen = draw(st.lists(st.tuples(kinds, SUFFIXES), min_size=1, max_size=4))
        if names[index + 1 :]:
            # The library takes the one that no other has for the primary type.
            chosen.append((names[index + 1], draw(SUFFIXES)))
        types[name] = [
            {"name": f"member{place}", "type": kind + suffix} for place, (kind, suffix) in enumerate(chosen)
        ]

    def value(kind: str) -> Any:
        if kind.endswith("]"):
            inner, _, size = kind[:-1].rpartition("[")
            return [value(inner) for _ in range(int(size) if size else draw(st.integers(0, 2)))]
        if kind in types:
            return {member["name"]: value(member["type"]) for member in types[kind]}
        return draw(VALUES[kind])

    return {"types": types, "primaryType": names[0], "domain": {"chainId": 1}, "message": value(names[0])}


@pytest.fixture(scope="module")
def library() -> Any:
    """Return eth-account's messages."""
    return pytest.importorskip("eth_account.messages", reason="held against eth-account")


@pytest.mark.slow
@given(told=typed_data())
def test_any_data_has_the_digest_that_another_library_finds(library: Any, told: dict[str, Any]) -> None:
    signable = library.encode_typed_data(full_message=told)
    assert digest(told) == library._hash_eip191_message(signable)
