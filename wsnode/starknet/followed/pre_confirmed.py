"""Block that is being built on the head, as an upstream sent it."""

from typing import Any, Final

import msgspec

from wsnode.starknet.body import StoredBody, StoredEvent, events_of
from wsnode.starknet.diff_json import FlatDiff, flat_diff
from wsnode.starknet.state_diff import StateDiff

PRE_CONFIRMED: Final = "PRE_CONFIRMED"
"""Finality of the block's transactions."""


class PreConfirmedBlock:
    """Block on top of one head, with its changes of the state. Nothing but transaction hashes is verified."""

    def __init__(
        self,
        parent_hash: bytes,
        number: int,
        header: dict[str, Any],
        body: StoredBody,
        diff: StateDiff,
        *,
        names_old_root: bool,
    ) -> None:
        """Make the block of verified parts; `header` has its members in the form of results.

        `names_old_root`: the upstream's state update has the root before the block, which is optional.
        """
        self.parent_hash = parent_hash
        self.number = number
        self.header = msgspec.json.encode(header)
        """Header as in results."""
        self.body = body
        self.diff: FlatDiff = flat_diff(diff)
        self.names_old_root = names_old_root
        self.nonces = dict(diff.nonces)
        """Nonces that it changes, by address."""
        self.class_hashes = dict(diff.deployed) | dict(diff.replaced)
        """Class hashes of contracts that it deploys or replaces, by address."""
        self.slots = {(address, key): value for address, key, value in diff.storage}
        """Values that it writes, by address and key."""
        self.named_classes = frozenset(diff.named_classes())
        """Hashes of the classes of its declarations, deployed contracts and replaced contracts."""
        self._deployed = frozenset(address for address, _ in diff.deployed)
        self._indices = {text: index for index, text in enumerate(body.hashes)}

    def deploys(self, address: bytes) -> bool:
        return address in self._deployed

    def index_of(self, transaction_hash: str) -> int | None:
        """Return the index of a transaction, or None if the block does not have it."""
        return self._indices.get(transaction_hash)

    def events(self) -> list[tuple[int, int, StoredEvent]]:
        """Return the events in order, each with the index of its transaction and its index there."""
        return [
            (index, place, event)
            for index, receipt in enumerate(self.body.receipts)
            for place, event in enumerate(events_of(receipt))
        ]
