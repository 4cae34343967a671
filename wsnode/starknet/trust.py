"""What a block's hash does not cover: members that are their source's word, and who vouches for them."""

from typing import Final

import msgspec

Version = tuple[int, ...]


class TrustedMember(msgspec.Struct, frozen=True):
    """A member of a block with receipts, or of its state update, that the block's hash does not cover."""

    member: str
    """Its path, with `[]` for any index; members below it are trusted with it."""
    before: Version | None = None
    """The first protocol version whose hash covers it; None if none does yet."""
    kinds: tuple[str, ...] = ()
    """The kinds of transactions that it concerns; none for all."""


RECEIPTS: Final = (0, 13, 2)
"""The first version whose hash covers receipts and state differences."""

TRUSTED_MEMBERS: Final = (
    TrustedMember("status"),
    TrustedMember("transactions[].receipt.finality_status"),
    TrustedMember("transactions[].receipt.execution_resources.l2_gas"),
    # The parent's hash covers it.
    TrustedMember("state_update.old_root"),
    TrustedMember("l2_gas_price", before=(0, 13, 4)),
    TrustedMember("starknet_version", before=RECEIPTS),
    TrustedMember("l1_gas_price", before=RECEIPTS),
    TrustedMember("l1_data_gas_price", before=RECEIPTS),
    TrustedMember("l1_da_mode", before=RECEIPTS),
    TrustedMember("receipt_commitment", before=RECEIPTS),
    TrustedMember("state_diff_commitment", before=RECEIPTS),
    TrustedMember("state_diff_length", before=RECEIPTS),
    TrustedMember("transactions[].receipt.actual_fee.amount", before=RECEIPTS),
    TrustedMember("transactions[].receipt.execution_status", before=RECEIPTS),
    TrustedMember("transactions[].receipt.revert_reason", before=RECEIPTS),
    TrustedMember("transactions[].receipt.messages_sent", before=RECEIPTS),
    TrustedMember("transactions[].receipt.execution_resources", before=RECEIPTS),
    TrustedMember("state_update.state_diff", before=RECEIPTS),
    TrustedMember(
        "transactions[].transaction.signature",
        before=(0, 11, 1),
        kinds=("DECLARE", "DEPLOY_ACCOUNT"),
    ),
    # The main network's first 833 blocks.
    TrustedMember("timestamp", before=(0, 7)),
    TrustedMember("sequencer_address", before=(0, 7)),
    TrustedMember("transactions[].receipt.events", before=(0, 7)),
)

INTERCHANGEABLE_LISTS: Final = (
    ("deployed_contracts", "replaced_classes"),
    ("declared_classes", "migrated_compiled_classes"),
)
"""Lists of a state difference that the hash covers as one: which of the two an entry is in, is trusted."""


def trusted_members(version: Version, kind: str | None = None) -> list[str]:
    """Return the paths of the members that the hash of a block of protocol `version` does not cover.

    With `kind`, such as INVOKE, only those of a transaction of that kind, and of the block.
    """
    return [
        trusted.member
        for trusted in TRUSTED_MEMBERS
        if (trusted.before is None or version < trusted.before)
        and (kind is None or not trusted.kinds or kind in trusted.kinds)
    ]
