"""eth_accounts, eth_sendTransaction …: transactions that the node completes, signs and sends."""

from collections.abc import Generator
from functools import partial
from typing import Any, Final

import msgspec

from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.transactions import (
    PooledTransaction,
    sign_transaction,
    unsigned_transaction,
)
from wsnode.ethereum.development.chain import DevelopmentChain
from wsnode.ethereum.pool.pool import TransactionPool
from wsnode.ethereum.primitives.values import Address, Hash32
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.message import targets_of_transaction, unchecked_message
from wsnode.ethereum.rpc.common.results import CALL_ERRORS, data
from wsnode.ethereum.rpc.common.schemas import ADDRESS, BYTES, HASH
from wsnode.ethereum.rpc.development.signing import SIGNING_ERRORS, SigningMethods, unknown_account
from wsnode.ethereum.rpc.transactions.inclusion import WAITING_ERRORS, InclusionWaiter, Milliseconds
from wsnode.ethereum.rpc.transactions.sending import SENDING_ERRORS, ExecutionCheck, refusal_by_pool, settled
from wsnode.ethereum.rpc.transactions.transaction_filler import (
    FeeFields,
    TransactionFiller,
    TransactionParameters,
    UnsignedTransaction,
    made_of,
)
from wsnode.ethereum.snapshot import CallerContext
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import list_of, reference
from wsnode.jsonrpc.work import JsonText, Step

MAX_GAS: Final = 1 << 24
"""The highest gas limit of a transaction since Osaka."""
HIGHEST_PRICE: Final = (1 << 128) - 1
"""The highest price of a unit of gas in wei: more than there is ether."""

Steps = Generator[Step, Any, bytes]


class TransactionSyncParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[transaction, milliseconds]`: an unsigned transaction, and the time to wait for its block."""

    transaction: CallObject
    timeout: Milliseconds | None = None


class DevelopmentAccountMethods:
    """Handlers of a development chain that complete, sign and send transactions of the node's accounts."""

    def __init__(
        self,
        chain: Chain,
        wallet: SigningMethods,
        pool: TransactionPool,
        control: DevelopmentChain,
        completion: TransactionFiller,
        inclusion: InclusionWaiter,
        execution: ExecutionCheck,
    ) -> None:
        self._chain = chain
        self._wallet = wallet
        self._pool = pool
        self._control = control
        self.completion = completion
        self._inclusion = inclusion
        self._execution = execution

    def addresses(self) -> list[str]:
        """Return the list of addresses with a key of the node, then those of impersonated accounts."""
        known = self._wallet.addresses
        more = [address for address in self._control.impersonation.addresses if address not in self._wallet]
        return [f"0x{address.hex()}" for address in [*known, *more]]

    def fee_recipient(self) -> JsonText:
        """Return the fee recipient of the next blocks, an address."""
        return data(self._control.fee_recipient)

    def send(self, params: TransactionParameters) -> Steps:
        """Return the hash of the sent transaction; with automatic mining, after its block is built."""
        return (yield from self._sent(self.sender_of(params.transaction), params.transaction))

    def send_and_wait(self, caller: CallerContext, params: TransactionSyncParameters) -> Steps:
        """Return the receipt of the sent transaction, once a block includes it."""
        sender = self.sender_of(params.transaction)
        sending = self._hash_of_sent(sender, params.transaction)
        return (yield from self._inclusion.included(caller, sending, params.timeout))

    def send_unsigned(self, params: TransactionParameters) -> Steps:
        """Return the hash of the sent transaction, whose `from` may be any address: it needs no signature."""
        call = params.transaction
        if call.sender is None:
            raise unknown_account()
        return (yield from self._sent(call.sender, call))

    def _sent(self, sender: Address, call: CallObject) -> Steps:
        return data((yield from self._hash_of_sent(sender, call)))

    def _hash_of_sent(self, sender: Address, call: CallObject) -> Generator[Step, Any, Hash32]:
        yield from self._execution.check(unchecked_message(call))
        transaction = yield from self.completion.completed(sender, call)
        # Nothing awaits between the choice of the nonce and this line, so no nonce is used twice.
        found = self._offer(sender, transaction)
        yield from settled(self._pool, self._control.settle, found)
        return found

    def sign_transaction(self, params: TransactionParameters) -> Steps:
        """Return the encoding, in hex, of a transaction that the node has completed and signed."""
        sender = self.sender_of(params.transaction)
        secret = self._wallet.secret(sender)
        transaction = yield from self.completion.completed(sender, params.transaction)
        return data((yield from made_of(transaction, partial(signed, secret))))

    def sender_of(self, call: CallObject) -> Address:
        """Return a transaction's sender, by default the first account of the node.

        Raises:
            RpcError: The node cannot sign for it.
        """
        sender = call.sender or next(iter(self._wallet.addresses), None)
        if sender is None or not (sender in self._wallet or self._control.impersonation.covers(sender)):
            raise unknown_account()
        # The gas estimate runs the call as this sender.
        call.sender = sender
        return sender

    def is_impersonated(self, sender: Address) -> bool:
        """Return True if transactions of a sender, an account of this node, have no signature."""
        return sender not in self._wallet

    def encode(self, sender: Address, transaction: UnsignedTransaction) -> bytes:
        if self.is_impersonated(sender):
            return unsigned_transaction(sender, **_members(transaction))
        return signed(self._wallet.secret(sender), transaction)

    def _offer(self, sender: Address, transaction: UnsignedTransaction) -> Hash32:
        encoded = self.encode(sender, transaction)
        with refusal_by_pool():
            if not self.is_impersonated(sender):
                return self._pool.add(encoded)
            impersonated = PooledTransaction.impersonated(self._chain.spec, encoded)
            self._pool.check(impersonated)
            return self._pool.admit(impersonated)


def signed(secret: bytes, transaction: UnsignedTransaction) -> bytes:
    """Return a transaction with its signature, encoded."""
    return sign_transaction(secret, **_members(transaction))


def _members(transaction: UnsignedTransaction) -> dict[str, Any]:
    members = msgspec.structs.asdict(transaction)
    fees: FeeFields = members.pop("fees")
    prices = msgspec.structs.asdict(fees)
    for name, price in prices.items():
        if price is not None and price > HIGHEST_PRICE:
            raise server_error(f"{name.replace('_', ' ')} is higher than 2^128-1")
    return members | prices


def add_methods(registry: Registry, accounts: DevelopmentAccountMethods) -> None:
    """Register this module's methods; eth_accounts replaces that of a node without accounts."""
    method = partial(registry.method, view=False)
    method("eth_accounts", replacing=True, result=list_of(ADDRESS))(accounts.addresses)
    method("eth_requestAccounts", result=list_of(ADDRESS))(accounts.addresses)
    method("eth_coinbase", result=ADDRESS)(accounts.fee_recipient)
    of_transaction = partial(method, contracts=targets_of_transaction)
    sending = (*SIGNING_ERRORS, *SENDING_ERRORS, *CALL_ERRORS)
    of_transaction("eth_sendTransaction", result=HASH, errors=sending)(accounts.send)
    of_transaction("eth_sendUnsignedTransaction", result=HASH, errors=sending)(accounts.send_unsigned)
    waiting = registry.method(
        "eth_sendTransactionSync",
        caller=True,
        result=reference("Receipt"),
        errors=(*sending, *WAITING_ERRORS),
        contracts=targets_of_transaction,
    )
    waiting(accounts.send_and_wait)
    signing = of_transaction("eth_signTransaction", result=BYTES, errors=(*SIGNING_ERRORS, *CALL_ERRORS))
    signing(accounts.sign_transaction)
