"""The blocks where an account's nonce or code changed, found by bisection of its history."""

from collections.abc import Callable, Generator
from typing import Any, Final

import msgspec

from wsnode.ethereum.codec.rendering import render_block, stored_transaction
from wsnode.ethereum.codec.rows import Rows
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.rpc.common.limits import CallLimits
from wsnode.ethereum.rpc.common.lookup import below_first, rows
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.rpc.common.worker_thread import Tracing, run_in_thread
from wsnode.ethereum.rpc.otterscan.parameters import ContractParameters, OtterscanNonceParameters
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import CancelFlag, ReorganisedError, parity_creator
from wsnode.jsonrpc.errors import server_error
from wsnode.jsonrpc.work import JsonText, RunInThread, Step

DELEGATED: Final = b"\xef\x01\x00"
"""The first bytes of a delegated account's code (EIP-7702), which no transaction creates as a contract."""

Account = tuple[int, int, bytes] | None


class DecodedTransaction(msgspec.Struct):
    """Members read from the JSON of a transaction: sender, nonce and hash, in hex."""

    sender: str = msgspec.field(name="from")
    nonce: str
    hash: str


class DecodedBlock(msgspec.Struct):
    """A block's transactions."""

    transactions: list[DecodedTransaction]


class AccountHistoryMethods:
    """Handlers that find a transaction in the history of an account, within the limits of traces."""

    def __init__(self, limits: CallLimits) -> None:
        self._limits = limits
        self.timed_out = server_error("execution timeout")

    def get_transaction_by_nonce(
        self, view: Snapshot, params: OtterscanNonceParameters
    ) -> Generator[Step, Any, JsonText]:
        """Return the hash of the canonical transaction with this sender and nonce, or null."""
        sender, nonce = params.sender, params.nonce
        number = first_block(view, sender, lambda account: account is not None and account[0] > nonce)
        found = None if number is None else rows(view, number)
        if found is None:
            return NULL
        text: bytes = yield RunInThread(lambda _cancel: _sent_with(found, sender, nonce))
        return text

    def get_full_transaction_by_nonce(
        self, view: Snapshot, params: OtterscanNonceParameters
    ) -> Generator[Step, Any, JsonText]:
        """Return the canonical transaction with this sender and nonce, or null."""
        found = msgspec.json.decode((yield from self.get_transaction_by_nonce(view, params)))
        transaction = None if found is None else stored_transaction(view.reader, bytes.fromhex(found[2:]))
        return transaction or NULL

    def get_contract_creator(self, view: Snapshot, params: ContractParameters) -> Tracing:
        """Return `{hash, creator}`: the transaction and the account that created a contract, or null."""
        address = params.address
        now = _account(view, address, view.number)
        if now is None or not (code := _code(view, address)) or code.startswith(DELEGATED):
            return NULL
        number = first_block(view, address, lambda account: account is not None and account[2] == now[2])
        found = None if not number else rows(view, number)
        if found is None:
            return NULL

        def run(flag: CancelFlag, most_bytes: int) -> tuple[bytes, bytes] | str | None:
            return parity_creator(
                view.state,
                found,
                address,
                seconds=self._limits.trace_seconds,
                size=most_bytes,
                cancel=flag,
            )

        created = yield from run_in_thread(run, self._limits.trace_bytes, self.timed_out)
        if created is None:
            return NULL
        return msgspec.json.encode({"hash": f"0x{created[0].hex()}", "creator": f"0x{created[1].hex()}"})


def first_block(view: Snapshot, address: bytes, holds: Callable[[Account], bool]) -> int | None:
    """Return a block from which on `holds` is true of an account, up to the head; None if it is false there.

    If `holds` became true only once, that is the first such block.

    Raises:
        RpcError: It became true below the first block here.
    """
    if not holds(_account(view, address, view.number)):
        return None
    before, after = view.earliest - 1, int(view.number)
    while after - before > 1:
        middle = (before + after) // 2
        before, after = (before, middle) if holds(_account(view, address, middle)) else (middle, after)
    if after == view.earliest > 0:
        raise below_first(view, after - 1)
    return after


def _account(view: Snapshot, address: bytes, number: int) -> Account:
    block_hash = view.hash_of(number)
    assert block_hash is not None, f"block {number} is canonical"
    try:
        return view.state.account(address, (number, block_hash))
    except ReorganisedError:
        raise header_not_found() from None


def _code(view: Snapshot, address: bytes) -> bytes:
    try:
        return view.state.code(address, (view.number, view.head.hash))
    except ReorganisedError:
        raise header_not_found() from None


def _sent_with(found: Rows, sender: bytes, nonce: int) -> JsonText:
    wanted = (f"0x{sender.hex()}", hex(nonce))
    block = msgspec.json.decode(render_block(*found, full=True), type=DecodedBlock)
    for transaction in block.transactions:
        if (transaction.sender, transaction.nonce) == wanted:
            return msgspec.json.encode(transaction.hash)
    return NULL
