"""Why a transaction is not let in, in geth's words (core/txpool/errors.go, legacypool.go, core/error.go)."""

from wsnode.jsonrpc.errors import RpcError, server_error


def already_known() -> RpcError:
    """Return the error for a transaction that is in the pool."""
    return server_error("already known")


def other_chain(have: int | None, want: int) -> RpcError:
    """Return the error for a transaction of another chain."""
    return server_error(f"invalid sender: invalid chain id for signer: have {have} want {want}")


def nonce_too_low(expected: int, nonce: int) -> RpcError:
    """Return the error for a nonce that a block has used."""
    return server_error(f"nonce too low: next nonce {expected}, tx nonce {nonce}")


def nonce_too_high(expected: int, nonce: int) -> RpcError:
    """Return the error for a blob transaction that comes too early."""
    return server_error(f"nonce too high: tx nonce {nonce}, gapped nonce {expected}")


def insufficient_funds(balance: int, cost: int) -> RpcError:
    """Return the error for a transaction that alone costs more than there is."""
    return _insufficient(f"balance {balance}, tx cost {cost}, overshot {cost - balance}")


def overdraft(balance: int, spent: int, cost: int) -> RpcError:
    """Return the error for a transaction that costs too much beside the executable ones."""
    details = f"balance {balance}, queued cost {spent}, tx cost {cost}, overshot {spent + cost - balance}"
    return _insufficient(details)


def bumped_overdraft(balance: int, spent: int, bump: int) -> RpcError:
    """Return the error for a replacement that costs too much beside the other executable ones."""
    details = f"balance {balance}, queued cost {spent}, tx bumped {bump}, overshot {spent + bump - balance}"
    return _insufficient(details)


def _insufficient(details: str) -> RpcError:
    return server_error(f"insufficient funds for gas * price + value: {details}")


def replacement_underpriced(details: str = "") -> RpcError:
    """Return the error for a replacement that pays too little more."""
    return server_error("replacement transaction underpriced" + (f": {details}" if details else ""))


def underpriced() -> RpcError:
    """Return the error for a transaction that pays no more than the cheapest in a full pool."""
    return server_error("transaction underpriced")


def pool_full() -> RpcError:
    """Return the error for a transaction that finds no room."""
    return server_error("txpool is full")


def account_limit(pooled: int) -> RpcError:
    """Return the error for one transaction too many of an account."""
    return server_error(f"account limit exceeded: pooled {pooled} txs")


def future_replaces_pending() -> RpcError:
    """Return the error for a transaction that must wait and for which one that need not would have to go."""
    return server_error("future transaction tries to replace pending")


def address_reserved() -> RpcError:
    """Return the error for an account with both blob transactions and others."""
    return server_error("address already reserved")


def authority_reserved() -> RpcError:
    """Return the error for an authorization of an account that has transactions waiting."""
    return server_error("authority already reserved")


def delegated_gap() -> RpcError:
    """Return the error for a transaction of a delegated account that would have to wait."""
    return server_error("gapped-nonce tx from delegated accounts")


def delegated_limit() -> RpcError:
    """Return the error for a second transaction of a delegated account."""
    return server_error("in-flight transaction limit reached for delegated accounts")


def sender_has_code(address: bytes, code_hash: bytes) -> RpcError:
    """Return the error for a contract as the sender."""
    return server_error(f"sender not an eoa: address 0x{address.hex()}, codehash: 0x{code_hash.hex()}")


def fee_above_cap(fee: float, cap: float) -> RpcError:
    """Return the error for a fee, in ether, that looks like a mistake."""
    return server_error(f"tx fee ({fee:.2f} ether) exceeds the configured cap ({cap:.2f} ether)")


def unprotected() -> RpcError:
    """Return the error for a transaction that could be sent again on another chain."""
    return server_error("only replay-protected (EIP-155) transactions allowed over RPC")
