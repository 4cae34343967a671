"""What keeps filters in memory, with the answers of the Redis scripts."""

import msgspec

from wsnode.ethereum.live.filter_store import (
    FilterQuota,
    FilterStoreUnavailableError,
    StoredFilter,
    UnreadableFilterError,
)


class MemoryKeeper:
    """Implements `Keeper` as a server that is asked by one task at a time, and can be away."""

    def __init__(self) -> None:
        self.kept: dict[str, StoredFilter] = {}
        self.is_away = False
        self.reported: list[str] = []

    async def add(self, identity: str, new: StoredFilter, room: FilterQuota) -> None:
        self._require()
        assert identity not in self.kept
        assert room.weight <= room.max_weight
        self.kept[identity] = new

    async def find(self, identity: str) -> StoredFilter | None:
        self._require()
        found = self.kept.get(identity)
        if found is not None and not found.wish:
            raise UnreadableFilterError("wish of 0 bytes")
        return found

    async def move(self, identity: str, began: bytes, place: bytes) -> bool:
        self._require()
        found = self.kept.get(identity)
        if found is None or found.place != began:
            return False
        self.kept[identity] = msgspec.structs.replace(found, place=place)
        return True

    async def remove(self, identity: str) -> bool:
        self._require()
        return self.kept.pop(identity, None) is not None

    def report(self, identity: str, reason: str) -> None:
        self.reported.append(f"{identity} {reason}")

    def _require(self) -> None:
        if self.is_away:
            raise FilterStoreUnavailableError
