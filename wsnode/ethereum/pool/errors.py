"""Refusals of transactions, in geth's words (core/txpool/errors.go, legacypool.go, core/error.go)."""


class PoolError(Exception):
    """Refusal of a transaction by the pool; the text says why."""


class KnownError(PoolError):
    """Refusal of a transaction that is in the pool."""

    def __init__(self) -> None:
        super().__init__("already known")


def other_chain(have: int | None, want: int) -> PoolError:
    """Return the error for a transaction of another chain id."""
    return PoolError(f"invalid sender: invalid chain id for signer: have {have} want {want}")


def nonce_too_low(expected: int, nonce: int) -> PoolError:
    """Return the error for a nonce used by a transaction in a block."""
    return PoolError(f"nonce too low: next nonce {expected}, tx nonce {nonce}")


def nonce_too_high(expected: int, nonce: int) -> PoolError:
    """Return the error for a blob transaction whose nonce leaves too large a gap."""
    return PoolError(f"nonce too high: tx nonce {nonce}, gapped nonce {expected}")


def insufficient_funds(balance: int, cost: int) -> PoolError:
    """Return the error for a transaction that alone costs more than the balance."""
    return _insufficient(f"balance {balance}, tx cost {cost}, overshot {cost - balance}")


def overdraft(balance: int, spent: int, cost: int) -> PoolError:
    """Return the error for a transaction whose cost with the executable ones' exceeds the balance."""
    details = f"balance {balance}, queued cost {spent}, tx cost {cost}, overshot {spent + cost - balance}"
    return _insufficient(details)


def bumped_overdraft(balance: int, spent: int, bump: int) -> PoolError:
    """Return the error for a replacement beyond the sender's balance.

    It costs `bump` wei more than the replaced transaction; all executable transactions cost `spent` wei.
    """
    details = f"balance {balance}, queued cost {spent}, tx bumped {bump}, overshot {spent + bump - balance}"
    return _insufficient(details)


def _insufficient(details: str) -> PoolError:
    return PoolError(f"insufficient funds for gas * price + value: {details}")


def replacement_underpriced(details: str = "") -> PoolError:
    """Return the error for a replacement whose fees are not raised enough."""
    return PoolError("replacement transaction underpriced" + (f": {details}" if details else ""))


def underpriced() -> PoolError:
    """Return the error for a transaction that pays no more than the cheapest in a full pool."""
    return PoolError("transaction underpriced")


def pool_full() -> PoolError:
    """Return the error for a transaction for which there is no room."""
    return PoolError("txpool is full")


def account_limit(pooled: int) -> PoolError:
    """Return the error for a transaction beyond the limit of its account."""
    return PoolError(f"account limit exceeded: pooled {pooled} txs")


def future_replaces_pending() -> PoolError:
    """Return the error for a queued transaction whose admission would evict an executable one."""
    return PoolError("future transaction tries to replace pending")


def address_reserved() -> PoolError:
    """Return the error for an account with both blob transactions and others."""
    return PoolError("address already reserved")


def authority_reserved() -> PoolError:
    """Return the error for an authorization of an account with waiting transactions."""
    return PoolError("authority already reserved")


def delegated_gap() -> PoolError:
    """Return the error for a transaction of a delegated account whose nonce leaves a gap."""
    return PoolError("gapped-nonce tx from delegated accounts")


def delegated_limit() -> PoolError:
    """Return the error for a second transaction of a delegated account."""
    return PoolError("in-flight transaction limit reached for delegated accounts")


def sender_has_code(address: bytes, code_hash: bytes) -> PoolError:
    """Return the error for a sender that is a contract."""
    return PoolError(f"sender not an eoa: address 0x{address.hex()}, codehash: 0x{code_hash.hex()}")


def fee_above_cap(fee: float, cap: float) -> PoolError:
    """Return the error for a fee, in ether, above the cap that guards against mistakes."""
    return PoolError(f"tx fee ({fee:.2f} ether) exceeds the configured cap ({cap:.2f} ether)")


def unprotected() -> PoolError:
    """Return the error for a transaction without a chain id, which could be replayed on another chain."""
    return PoolError("only replay-protected (EIP-155) transactions allowed over RPC")
