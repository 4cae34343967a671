"""Requests for values of a state, as calls to a node, and its answers as proofs that are not verified yet."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from wsnode.ethereum.primitives.values import hexadecimal
from wsnode.untrusted.decoding import JsonDecoder
from wsnode.upstream.errors import UpstreamError

SLOTS_AT_ONCE: Final = 64
"""Maximum number of slots in one call."""

Call = tuple[str, list[Any]]
"""Method and its parameters."""
Proof = tuple[bytes, list[bytes], list[tuple[bytes, list[bytes]]], bytes | None]
"""Address, nodes, slots with their nodes, and code or None, in the engine's form."""


class StateRequest(msgspec.Struct, frozen=True):
    """Values wanted of one account: some slots, and with `with_code` its code, if nothing of the account is
    known.
    """

    address: bytes
    slots: tuple[bytes, ...] = ()
    with_code: bool = True

    @property
    def proofs(self) -> int:
        """Return the number of values that are wanted: the slots, and the code if `with_code`."""
        return len(self.slots) + self.with_code


class _SlotProof(msgspec.Struct):
    proof: list[str]


class _AccountProof(msgspec.Struct):
    """Result of eth_getProof; its other members follow from the nodes of the proofs."""

    account: list[str] = msgspec.field(name="accountProof")
    code_hash: str = msgspec.field(name="codeHash", default="0x")
    storage: list[_SlotProof] = msgspec.field(name="storageProof", default_factory=list)


class _AccessListEntry(msgspec.Struct):
    address: str
    slots: list[str] = msgspec.field(name="storageKeys", default_factory=list)


class _AccessList(msgspec.Struct):
    entries: list[_AccessListEntry] = msgspec.field(name="accessList", default_factory=list)


_TOLD: Final = JsonDecoder(_AccountProof)
_ACCESS_LIST: Final = JsonDecoder(_AccessList)
_CODE: Final = JsonDecoder(str)


def grouped(accounts: Iterable[bytes], slots: Iterable[tuple[bytes, bytes]]) -> list[StateRequest]:
    """Return requests for accounts, and for slots of these accounts or of others whose code is known."""
    whole = set(accounts)
    by_address: dict[bytes, list[bytes]] = {address: [] for address in sorted(whole)}
    for address, slot in sorted(set(slots)):
        by_address.setdefault(address, []).append(slot)
    found = []
    for address, own in by_address.items():
        for start in range(0, max(len(own), 1), SLOTS_AT_ONCE):
            part = tuple(own[start : start + SLOTS_AT_ONCE])
            found.append(StateRequest(address, part, with_code=address in whole and start == 0))
    return found


def questions(wanted: Sequence[StateRequest], block: Mapping[str, Any] | str) -> list[Call]:
    """Return the calls for all requests after a block."""
    calls: list[Call] = []
    for each in wanted:
        address = hexadecimal(each.address)
        calls.append(("eth_getProof", [address, [hexadecimal(slot) for slot in each.slots], block]))
        if each.with_code:
            calls.append(("eth_getCode", [address, block]))
    return calls


def proofs_of(wanted: Sequence[StateRequest], answers: Sequence[bytes]) -> list[Proof]:
    """Return the proofs in the answers to `questions`.

    Raises:
        UpstreamError: An answer has another form.
    """
    remaining = iter(answers)
    try:
        return [_proof(each, remaining) for each in wanted]
    except ValueError as error:
        raise UpstreamError("invalid", f"a result of eth_getProof is malformed: {error}") from None


def with_codes(proofs: Sequence[Proof], codes: Mapping[int, bytes]) -> list[Proof]:
    """Return `proofs` with the codes of answers to eth_getCode, by their places.

    Raises:
        UpstreamError: An answer has another form.
    """
    try:
        answer = {place: _read(_CODE.decode(code)) for place, code in codes.items()}
    except ValueError as error:
        raise UpstreamError("invalid", f"a result of eth_getCode is malformed: {error}") from None
    return [(*proof[:3], answer.get(place, proof[3])) for place, proof in enumerate(proofs)]


def unverified_code_hash(answer: bytes) -> bytes:
    """Return the hash of an account's code in an answer to eth_getProof: a hint, which may be wrong."""
    try:
        return _read(_TOLD.decode(answer).code_hash)
    except ValueError:
        return b""


def _proof(wanted: StateRequest, answers: Any) -> Proof:
    answer = _TOLD.decode(next(answers))
    if len(answer.storage) != len(wanted.slots):
        raise ValueError(f"{len(answer.storage)} slots instead of {len(wanted.slots)}")
    slots = [(slot, _nodes(proved.proof)) for slot, proved in zip(wanted.slots, answer.storage, strict=True)]
    code = _read(_CODE.decode(next(answers))) if wanted.with_code else None
    return wanted.address, _nodes(answer.account), slots, code


def _nodes(proof: Sequence[str]) -> list[bytes]:
    return [_read(node) for node in proof]


def _read(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("0x"))


def _sized(text: str, size: int) -> bytes:
    found = _read(text)
    if len(found) != size:
        raise ValueError(f"{len(found)} bytes instead of {size}")
    return found


def listed(answer: bytes) -> list[StateRequest]:
    """Return the reads of a call that a node predicts in its answer to eth_createAccessList."""
    try:
        entries = _ACCESS_LIST.decode(answer).entries
        by_address = [(_sized(entry.address, 20), entry.slots) for entry in entries]
        slots = [(address, _sized(slot, 32)) for address, own in by_address for slot in own]
        return grouped([address for address, _own in by_address], slots)
    except ValueError:
        # The access list is only a hint, so an answer of another form counts as an empty one.
        return []
