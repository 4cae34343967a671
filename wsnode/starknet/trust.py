"""Members of blocks that the block's hash does not cover: they are trusted from their source."""

from typing import Final

import msgspec

Version = tuple[int, ...]


class UncommittedMember(msgspec.Struct, frozen=True):
    """Member of a block with receipts, or of its state update, that the block's hash does not cover."""

    member: str
    """Path of the member, with `[]` for any index; members below it are trusted too."""
    before: Version | None = None
    """First protocol version whose block hash covers the member; None if no version's does."""
    kinds: tuple[str, ...] = ()
    """Kinds of transactions whose member is trusted; empty for all kinds."""


RECEIPTS: Final = (0, 13, 2)
"""First protocol version whose block hash covers receipts and state differences."""

TRUSTED_MEMBERS: Final = (
    UncommittedMember("status"),
    UncommittedMember("transactions[].receipt.finality_status"),
    UncommittedMember("transactions[].receipt.execution_resources.l2_gas"),
    # The hash of the parent covers this root.
    UncommittedMember("state_update.old_root"),
    UncommittedMember("l2_gas_price", before=(0, 13, 4)),
    UncommittedMember("starknet_version", before=RECEIPTS),
    UncommittedMember("l1_gas_price", before=RECEIPTS),
    UncommittedMember("l1_data_gas_price", before=RECEIPTS),
    UncommittedMember("l1_da_mode", before=RECEIPTS),
    UncommittedMember("receipt_commitment", before=RECEIPTS),
    UncommittedMember("state_diff_commitment", before=RECEIPTS),
    UncommittedMember("state_diff_length", before=RECEIPTS),
    UncommittedMember("transactions[].receipt.actual_fee.amount", before=RECEIPTS),
    UncommittedMember("transactions[].receipt.execution_status", before=RECEIPTS),
    UncommittedMember("transactions[].receipt.revert_reason", before=RECEIPTS),
    UncommittedMember("transactions[].receipt.messages_sent", before=RECEIPTS),
    UncommittedMember("transactions[].receipt.execution_resources", before=RECEIPTS),
    UncommittedMember("state_update.state_diff", before=RECEIPTS),
    UncommittedMember(
        "transactions[].transaction.signature",
        before=(0, 11, 1),
        kinds=("DECLARE", "DEPLOY_ACCOUNT"),
    ),
    # The hashes of the main network's first 833 blocks do not cover these members.
    UncommittedMember("timestamp", before=(0, 7)),
    UncommittedMember("sequencer_address", before=(0, 7)),
    UncommittedMember("transactions[].receipt.events", before=(0, 7)),
)

INTERCHANGEABLE_LISTS: Final = (
    ("deployed_contracts", "replaced_classes"),
    ("declared_classes", "migrated_compiled_classes"),
)
"""Pairs of lists of a state difference that the hash covers as one list: the list of an entry is trusted."""


def describe_trusted_members(*, checks_roots: bool, has_first_block: bool) -> str:
    """Return a sentence with all members, grouped by the first version whose block hash covers them.

    `checks_roots`: True if state roots are recomputed, which covers state differences of all versions.
    `has_first_block`: True if the old root of the first stored block is covered too.
    """
    covered = {"state_update.state_diff"} if checks_roots else set()
    covered |= {"state_update.old_root"} if has_first_block else set()
    by_version: dict[Version | None, list[str]] = {}
    for trusted in TRUSTED_MEMBERS:
        if trusted.member not in covered:
            by_version.setdefault(trusted.before, []).append(_named(trusted))
    by_version[RECEIPTS].append("the transaction of an event")
    parts = [
        ", ".join(named) if before is None else f"before {_dotted(before)} {', '.join(named)}"
        for before, named in by_version.items()
    ]
    lists = " and of ".join(" or ".join(pair) for pair in INTERCHANGEABLE_LISTS)
    return f"{'; '.join(parts)}; in which list of {lists} an entry is"


def _named(trusted: UncommittedMember) -> str:
    if trusted.member == "state_update.old_root":
        return f"{trusted.member} of the first stored block"
    return trusted.member if not trusted.kinds else f"{trusted.member} of {' and '.join(trusted.kinds)}"


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def trusted_members(version: Version, kind: str | None = None) -> list[str]:
    """Return the paths of the members that the hash of a block of protocol `version` does not cover.

    With `kind`, such as INVOKE, members of other kinds of transactions are left out.
    """
    return [
        trusted.member
        for trusted in TRUSTED_MEMBERS
        if (trusted.before is None or version < trusted.before)
        and (kind is None or not trusted.kinds or kind in trusted.kinds)
    ]
