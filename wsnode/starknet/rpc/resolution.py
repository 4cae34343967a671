"""From a block id to the state that it names."""

from wsnode.starknet.block_id import BlockId, ByHash, ByNumber, Pending
from wsnode.starknet.rpc.errors import block_not_found, history_unavailable
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.rows import BlockRow


class ResolvedState:
    """The state after `number`; for the pending block, which changes nothing yet, the head's."""

    __slots__ = ("block", "is_pending", "number")

    def __init__(self, number: int, block: BlockRow, *, is_pending: bool) -> None:
        self.number = number
        self.block = block
        self.is_pending = is_pending


def resolve(snapshot: StarknetSnapshot, block_id: BlockId) -> ResolvedState:
    """Return the state that `block_id` names.

    Raises:
        RpcError: The block does not exist, or the node's history begins above it.
    """
    choice = block_id.choice
    number = number_of(snapshot, block_id)
    block = None if number is None else snapshot.block(number)
    if number is None or block is None:
        if isinstance(choice, ByNumber) and choice.number < snapshot.first_block:
            raise history_unavailable(snapshot.first_block)
        raise block_not_found()
    return ResolvedState(number, block, is_pending=isinstance(choice, Pending))


def number_of(snapshot: StarknetSnapshot, block_id: BlockId) -> int | None:
    """Return the number of a block id: as given, or of the block with its hash, or of the head.

    For the pending block it is the head's. None for an unknown hash, and for the head of an empty chain. A
    given number may be above the head.
    """
    choice = block_id.choice
    if isinstance(choice, ByNumber):
        return choice.number
    if isinstance(choice, ByHash):
        return snapshot.number_of(choice.hash)
    return snapshot.head
