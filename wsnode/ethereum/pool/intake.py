"""Checks of a transaction that do not depend on the state."""

from wsnode.ethereum.codec.transactions import PooledTransaction, check_transaction
from wsnode.ethereum.pool import refusals
from wsnode.ethereum.pool.limits import ETHER, PoolLimits
from wsnode.ethereum.state import ChainSpec, InvalidTransactionError


def decode_sent(spec: ChainSpec, encoded: bytes, limits: PoolLimits) -> PooledTransaction:
    """Return the transaction that a user sends, with a fee below the cap for mistakes.

    Raises:
        PoolError: It is no transaction, or is refused.
    """
    try:
        transaction = PooledTransaction(spec, encoded)
    except InvalidTransactionError as error:
        raise refusals.PoolError(str(error)) from None
    fee = transaction.max_fee * transaction.gas
    if 0 < limits.fee_cap < fee:
        raise refusals.fee_above_cap(fee / ETHER, limits.fee_cap / ETHER)
    if not transaction.is_replay_protected:
        raise refusals.unprotected()
    return transaction


def check_following(
    spec: ChainSpec,
    header: bytes,
    transaction: PooledTransaction,
    limits: PoolLimits,
    *,
    keeps_blobs: bool = False,
    needs_blobs: bool = True,
) -> None:
    """Check that a block after that of `header` could include the transaction, which may keep its blobs.

    Unless it `needs_blobs`, it may come without them.

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
        )
    except InvalidTransactionError as error:
        raise refusals.PoolError(str(error)) from None
