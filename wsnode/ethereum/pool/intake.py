"""Checks of a transaction that do not depend on the state."""

from wsnode.ethereum.codec.transactions import PooledTransaction, check_transaction
from wsnode.ethereum.pool import errors
from wsnode.ethereum.pool.limits import DEFAULT_POOL_RULES, ETHER, PoolLimits, PoolRules
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError


def decode_sent(
    spec: ChainSpec, encoded: bytes, limits: PoolLimits, rules: PoolRules = DEFAULT_POOL_RULES
) -> PooledTransaction:
    """Return the transaction in `encoded`, sent by a user; its fee must not exceed the cap for mistakes.

    Raises:
        PoolError: The bytes are no transaction, or it is refused.
    """
    try:
        transaction = PooledTransaction(spec, encoded)
    except InvalidTransactionError as error:
        raise errors.PoolError(str(error)) from None
    fee = transaction.max_fee * transaction.gas
    if 0 < limits.fee_cap < fee:
        raise errors.fee_above_cap(fee / ETHER, limits.fee_cap / ETHER)
    if not (transaction.is_replay_protected or rules.allows_unprotected):
        raise errors.unprotected()
    return transaction


def check_following(
    spec: ChainSpec,
    header: bytes,
    transaction: PooledTransaction,
    limits: PoolLimits,
    *,
    gas_limit: int | None = None,
    keeps_blobs: bool = False,
    needs_blobs: bool = True,
) -> None:
    """Check that a transaction can be included in a block after `header`, apart from the state.

    `gas_limit` is that of the next block, None to derive it. With `keeps_blobs` the transaction keeps its
    blobs; unless it `needs_blobs`, it may come without them.

    Raises:
        PoolError: No block after the header could include it.
    """
    try:
        check_transaction(
            spec,
            header,
            transaction,
            minimum_tip=limits.tip,
            was_included=not needs_blobs,
            keeps_blobs=keeps_blobs,
            gas_limit=gas_limit,
        )
    except InvalidTransactionError as error:
        raise errors.PoolError(str(error)) from None
