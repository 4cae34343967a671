"""Errors that stop a replica, each in one line."""

from wsnode.cluster.records import ChainState, RecordId

RESTORE = "stop this node, restore a snapshot of a node that has it (`wsnode restore`), and start again"


class ReplicaError(Exception):
    """Error of a journal that cannot be followed any further; stored blocks stay valid."""


class RefusedRecordError(ReplicaError):
    """Error of a record that does not verify, or does not lead to its stated outcome."""

    def __init__(self, record_id: RecordId, reason: str) -> None:
        super().__init__(f"record {record_id} is refused: {reason}")
        self.record_id, self.reason = record_id, reason


class GapError(ReplicaError):
    """Error of a chain without the block, or the state, before a record."""

    def __init__(self, mine: ChainState, wanted: ChainState) -> None:
        here = f"the head here is {mine.head}" if mine.head.number >= 0 else "there is no block here"
        super().__init__(f"the journal continues after block {wanted.head}, and {here}: {RESTORE}")
        self.mine, self.wanted = mine, wanted
