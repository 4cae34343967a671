"""Checks of a transaction that do not depend on the state."""

from wsnode.ethereum.codec.transactions import PooledTransaction, check_transaction
from wsnode.ethereum.pool import errors
from wsnode.ethereum.pool.limits import DEFAULT_POOL_RULES, ETHER, PoolLimits, PoolRules
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError


def decode_sent(
    spec: ChainSpec, encoded: bytes, limits: PoolLimits, rules: PoolRules = DEFAULT_POOL_RULES
) -> PooledTransaction:
    """Return the transaction that a user sends, with a fee below the cap for mistakes.

    Raises:
        PoolError: It is no transaction, or is refused.
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
    """Check that a block after that of `header` could include the transaction, which may keep its blobs.

    `gas_limit` is that of the block, if it is decided. Unless it `needs_blobs`, the transaction may come
    without them.

    Raises:
        PoolError: None could.
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
