"""Why a replica stops, each in one line."""

from wsnode.cluster.records import ChainState, RecordId

RESTORE = "stop this node, restore a snapshot of a node that has it (`wsnode restore`), and start again"


class ReplicaError(Exception):
    """The journal cannot be followed any further; what is stored stays good."""


class RefusedRecordError(ReplicaError):
    """A record does not verify, or does not lead where it says."""

    def __init__(self, record_id: RecordId, reason: str) -> None:
        super().__init__(f"record {record_id} is refused: {reason}")
        self.record_id, self.reason = record_id, reason


class GapError(ReplicaError):
    """The chain has not the block, or not the state, that a record follows."""

    def __init__(self, mine: ChainState, wanted: ChainState) -> None:
        here = f"the head here is {mine.head}" if mine.head.number >= 0 else "there is no block here"
        super().__init__(f"the journal continues after block {wanted.head}, and {here}: {RESTORE}")
        self.mine, self.wanted = mine, wanted
