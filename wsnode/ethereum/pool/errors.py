"""Why a transaction is not let in, in geth's words (core/txpool/errors.go, legacypool.go, core/error.go)."""


class PoolError(Exception):
    """The pool does not take a transaction; the text says why."""


class KnownError(PoolError):
    """The transaction is in the pool."""

    def __init__(self) -> None:
        super().__init__("already known")


def other_chain(have: int | None, want: int) -> PoolError:
    """Return the error for a transaction of another chain."""
    return PoolError(f"invalid sender: invalid chain id for signer: have {have} want {want}")


def nonce_too_low(expected: int, nonce: int) -> PoolError:
    """Return the error for a nonce that a block has used."""
    return PoolError(f"nonce too low: next nonce {expected}, tx nonce {nonce}")


def nonce_too_high(expected: int, nonce: int) -> PoolError:
    """Return the error for a blob transaction that comes too early."""
    return PoolError(f"nonce too high: tx nonce {nonce}, gapped nonce {expected}")


def insufficient_funds(balance: int, cost: int) -> PoolError:
    """Return the error for a transaction that alone costs more than there is."""
    return _insufficient(f"balance {balance}, tx cost {cost}, overshot {cost - balance}")


def overdraft(balance: int, spent: int, cost: int) -> PoolError:
    """Return the error for a transaction that costs too much beside the executable ones."""
    details = f"balance {balance}, queued cost {spent}, tx cost {cost}, overshot {spent + cost - balance}"
    return _insufficient(details)


def bumped_overdraft(balance: int, spent: int, bump: int) -> PoolError:
    """Return the error for a replacement that costs too much beside the other executable ones."""
    details = f"balance {balance}, queued cost {spent}, tx bumped {bump}, overshot {spent + bump - balance}"
    return _insufficient(details)


def _insufficient(details: str) -> PoolError:
    return PoolError(f"insufficient funds for gas * price + value: {details}")


def replacement_underpriced(details: str = "") -> PoolError:
    """Return the error for a replacement that pays too little more."""
    return PoolError("replacement transaction underpriced" + (f": {details}" if details else ""))


def underpriced() -> PoolError:
    """Return the error for a transaction that pays no more than the cheapest in a full pool."""
    return PoolError("transaction underpriced")


def pool_full() -> PoolError:
    """Return the error for a transaction that finds no room."""
    return PoolError("txpool is full")


def account_limit(pooled: int) -> PoolError:
    """Return the error for one transaction too many of an account."""
    return PoolError(f"account limit exceeded: pooled {pooled} txs")


def future_replaces_pending() -> PoolError:
    """Return the error for a transaction that must wait and for which one that need not would have to go."""
    return PoolError("future transaction tries to replace pending")


def address_reserved() -> PoolError:
    """Return the error for an account with both blob transactions and others."""
    return PoolError("address already reserved")


def authority_reserved() -> PoolError:
    """Return the error for an authorization of an account that has transactions waiting."""
    return PoolError("authority already reserved")


def delegated_gap() -> PoolError:
    """Return the error for a transaction of a delegated account that would have to wait."""
    return PoolError("gapped-nonce tx from delegated accounts")


def delegated_limit() -> PoolError:
    """Return the error for a second transaction of a delegated account."""
    return PoolError("in-flight transaction limit reached for delegated accounts")


def sender_has_code(address: bytes, code_hash: bytes) -> PoolError:
    """Return the error for a contract as the sender."""
    return PoolError(f"sender not an eoa: address 0x{address.hex()}, codehash: 0x{code_hash.hex()}")


def fee_above_cap(fee: float, cap: float) -> PoolError:
    """Return the error for a fee, in ether, that looks like a mistake."""
    return PoolError(f"tx fee ({fee:.2f} ether) exceeds the configured cap ({cap:.2f} ether)")


def unprotected() -> PoolError:
    """Return the error for a transaction that could be sent again on another chain."""
    return PoolError("only replay-protected (EIP-155) transactions allowed over RPC")
