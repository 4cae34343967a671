"""The pending block: in memory only, and true only on top of the head it was built on."""

from collections.abc import Sequence

from wsnode.starknet.block import PendingUpdate
from wsnode.starknet.classes.definition import ContractClass
from wsnode.starknet.diff_json import EMPTY, flat_diff
from wsnode.starknet.storage.rows import BlockRow


class Overlay:
    """What lies over the head's state; without an update, nothing."""

    __slots__ = ("class_hashes", "classes", "flat", "named", "nonces", "storage", "update")

    def __init__(self, update: PendingUpdate | None = None, classes: Sequence[ContractClass] = ()) -> None:
        diff = update.diff if update else None
        self.update = update
        self.flat = flat_diff(diff) if diff else EMPTY
        self.class_hashes = dict((*diff.deployed, *diff.replaced)) if diff else {}
        self.nonces = dict(diff.nonces) if diff else {}
        self.storage = {(address, key): value for address, key, value in diff.storage} if diff else {}
        self.named = frozenset(diff.named_classes()) if diff else frozenset[bytes]()
        self.classes = {found.class_hash: found.rendered for found in classes}

    def sits_on(self, number: int, head: BlockRow) -> bool:
        """Tell whether the update was built on `head`; one that does not say on what was not."""
        if (update := self.update) is None:
            return True
        if update.parent_hash is None and update.old_root is None:
            return False
        return (
            update.parent_hash in (None, head.hash)
            and update.old_root in (None, head.new_root)
            and update.number in (None, number + 1)
        )


NOTHING = Overlay()
