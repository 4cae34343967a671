"""Class definition: its kind, and its JSON text in results."""

import enum
from typing import Any, TypeAlias

import msgspec

EntryPoints: TypeAlias = dict[str, list[tuple[bytes, int]]]
"""Selectors, each with `function_idx` (Sierra) or `offset` (Cairo 0), by kind of entry point."""

ENTRY_POINT_KINDS = ("CONSTRUCTOR", "EXTERNAL", "L1_HANDLER")


class ClassKind(enum.IntEnum):
    """Kind of a contract class: of Cairo 0, or of Sierra."""

    CAIRO0 = 0
    SIERRA = 1


class ContractClass(msgspec.Struct, frozen=True):
    """Contract class: its kind, its hash, and its JSON in the form of results. The hash is recomputed from
    the definition, not read from it.
    """

    kind: ClassKind
    class_hash: bytes
    rendered: bytes


class NotAClassError(ValueError):
    """Error of a document without a class definition; the message gives the reason."""


def compact(raw: msgspec.Raw | bytes) -> bytes:
    """Return the JSON value without white space, with its numbers and order unchanged."""
    return msgspec.json.format(bytes(raw), indent=-1)


def kinds_of(entry_points: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return the entry points of all three kinds; the feeder leaves out kinds that are empty.

    Raises:
        NotAClassError: A kind is unknown.
    """
    if unknown := entry_points.keys() - set(ENTRY_POINT_KINDS):
        raise NotAClassError(f"entry points of an unknown kind: {sorted(unknown)[0][:40]}")
    return {kind: entry_points.get(kind, []) for kind in ENTRY_POINT_KINDS}


def packed_kinds(entry_points: EntryPoints) -> tuple[bytes, bytes, bytes]:
    """Return external, L1 handler and constructor entry points as the engine takes them."""
    external, l1_handler, constructor = (
        b"".join(selector + place.to_bytes(32, "big") for selector, place in entry_points[kind])
        for kind in ("EXTERNAL", "L1_HANDLER", "CONSTRUCTOR")
    )
    return external, l1_handler, constructor
