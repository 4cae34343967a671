"""Resolution of a block id to its state, and values of that state from no stored block."""

from functools import partial

from wsnode.jsonrpc.work import Await, RenderedJson, Steps
from wsnode.starknet.block_id import BlockId, ByHash, ByNumber, L1Accepted, Pending, PreConfirmed
from wsnode.starknet.followed import PreConfirmedBlock, ProvedContract, StateValue
from wsnode.starknet.rpc.errors import block_not_found, history_unavailable, no_l1_head
from wsnode.starknet.snapshot import StarknetSnapshot
from wsnode.starknet.storage.tables import BlockRow


class ResolvedState:
    """State meant by a `block_id`: that after block `number` or, for the pending block, the head's state with
    the changes of `pre_confirmed`.
    """

    __slots__ = ("block", "is_pending", "number", "pre_confirmed")

    def __init__(
        self,
        number: int,
        block: BlockRow,
        *,
        is_pending: bool,
        pre_confirmed: PreConfirmedBlock | None = None,
    ) -> None:
        self.number = number
        self.block = block
        self.is_pending = is_pending
        self.pre_confirmed = pre_confirmed
        """Block on the head as an upstream sent it; None if it is empty, and for all other block ids."""


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
    if not isinstance(choice, Pending):
        return ResolvedState(number, block, is_pending=False)
    require_pre_confirmed(snapshot, block_id)
    return ResolvedState(number, block, is_pending=True, pre_confirmed=snapshot.pre_confirmed)


def require_pre_confirmed(snapshot: StarknetSnapshot, block_id: BlockId) -> None:
    """Check that the chain is at its upstreams' head if `block_id` is `pre_confirmed`.

    An empty block on an old head would mislead; `pending` is that block then.

    Raises:
        RpcError: The chain is behind.
    """
    is_named = isinstance(block_id.choice, PreConfirmed)
    if is_named and snapshot.followed is not None and snapshot.followed.is_behind():
        raise block_not_found()


def number_of(snapshot: StarknetSnapshot, block_id: BlockId) -> int | None:
    """Return the number of a block id: as given, or of the block with its hash, or of a tag's block.

    For the pending block it is the head's. None for an unknown hash, and for the head of an empty chain. A
    given number may be above the head.

    Raises:
        RpcError: The block id is `l1_accepted`, and the chain follows no others.
    """
    choice = block_id.choice
    if isinstance(choice, ByNumber):
        return choice.number
    if isinstance(choice, L1Accepted):
        if snapshot.followed is None:
            raise no_l1_head()
        return snapshot.l1_accepted
    if isinstance(choice, ByHash):
        return snapshot.number_of(choice.hash)
    return snapshot.head


def is_cut_off(snapshot: StarknetSnapshot, state: ResolvedState, address: bytes) -> bool:
    """Return True if blocks below the first stored one may have written values of a contract."""
    if snapshot.has_whole_state or snapshot.was_deployed_here(address):
        return False
    return state.pre_confirmed is None or not state.pre_confirmed.deploys(address)


def read_proved(snapshot: StarknetSnapshot, state: ResolvedState, wanted: StateValue) -> Steps:
    """Return the contract of a value as it is after a block, a `ProvedContract`, None if it does not exist.

    Raises:
        RpcError: The chain follows no others, or no upstream proves the value.
    """
    if snapshot.followed is None:
        raise history_unavailable(snapshot.first_block)
    read = snapshot.followed.reader.read
    found: ProvedContract | None = yield Await(partial(read, wanted, state.number, state.block.hash))
    return found


def read_class(snapshot: StarknetSnapshot, state: ResolvedState, class_hash: bytes) -> Steps:
    """Return the JSON of a class that is not stored.

    Raises:
        RpcError: The chain follows no others, or no upstream has the class.
    """
    if snapshot.followed is None:
        raise history_unavailable(snapshot.first_block)
    read = snapshot.followed.reader.read_class
    text: bytes = yield Await(partial(read, class_hash, state.number, state.block.hash))
    return RenderedJson(text)
