"""Blocks as Otterscan shows them: without long members, with rewards and fees."""

from collections.abc import Generator
from typing import Any

import msgspec

from wsnode.ethereum.codec.rendering import render_block, render_receipts
from wsnode.ethereum.codec.rows import Row, Rows, header_fields, transaction_count
from wsnode.ethereum.not_found import header_not_found
from wsnode.ethereum.rpc.common.lookup import numbered, rows
from wsnode.ethereum.rpc.common.parameters import LATEST, PENDING, NumberOrTag, account_of
from wsnode.ethereum.rpc.common.pending_state import PendingState
from wsnode.ethereum.rpc.common.results import NULL, STATE_ERRORS
from wsnode.ethereum.rpc.otterscan.parameters import (
    BlockHashParameters,
    OtterscanCodeParameters,
    OtterscanNumberParameters,
    OtterscanPageParameters,
)
from wsnode.ethereum.rpc.otterscan.schemas import DETAILS, FULL_BLOCK, HEADER, NOT_IN_HEADERS
from wsnode.ethereum.snapshot import Snapshot
from wsnode.ethereum.state import ReorganisedError, block_rewards
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, COUNT, or_null
from wsnode.jsonrpc.work import JsonText, RunInThread, Step

API_LEVEL = 8
"""The level of the ots_ methods here: https://docs.otterscan.io/api-docs/ots-api."""
SELECTOR = len("0x01020304")

Steps = Generator[Step, Any, bytes]


class BlockFees(msgspec.Struct, rename="camel"):
    """Members of a receipt that give the transaction's fee: gas used, and price of a unit of gas in wei, both
    in hex.
    """

    gas_used: str
    effective_gas_price: str


class OtterscanBlockMethods:
    """Handlers about accounts and blocks, some of which may be asked for the pending block."""

    def __init__(self, pending: PendingState) -> None:
        self._pending = pending

    def has_code(self, view: Snapshot, params: OtterscanCodeParameters) -> Steps:
        """Return whether an account has code after a block, a boolean."""
        block = yield from self._pending.block(view, params.block)
        try:
            return b"true" if view.state.code(params.address, block) else b"false"
        except ReorganisedError:
            raise header_not_found() from None

    def get_details(self, view: Snapshot, params: OtterscanNumberParameters) -> Steps:
        """Return `{block, issuance, totalFees}` of a canonical block, amounts in wei, or null."""
        return (yield from _details(view, _number(view, params.block)))

    def get_details_by_hash(self, view: Snapshot, params: BlockHashParameters) -> Steps:
        """Return `{block, issuance, totalFees}` of the canonical block with this hash, amounts in wei, or
        null.
        """
        return (yield from _details(view, view.number_of(params.hash)))

    def get_transactions(self, view: Snapshot, params: OtterscanPageParameters) -> Steps:
        """Return `{fullblock, receipts}`: a canonical block with one page of its transactions, or null."""
        number = _number(view, params.block)
        found, receipts = _stored(view, number)
        if found is None or receipts is None:
            return NULL
        last = max(transaction_count(found[1]) - params.page * params.page_size, 0)
        first = max(last - params.page_size, 0)
        text: bytes = yield RunInThread(lambda _cancel: _page(found, receipts, first, last))
        return text


def get_api_level(_view: Snapshot) -> JsonText:
    """Return the API level, a number by which Otterscan knows the available methods."""
    return b"%d" % API_LEVEL


def get_header(view: Snapshot, params: OtterscanNumberParameters) -> JsonText:
    """Return the header of a canonical block, or null beyond the head."""
    number = _number(view, params.block)
    found = None if number is None else rows(view, number)
    if found is None:
        return NULL
    block = msgspec.json.decode(render_block(*found, full=False))
    return msgspec.json.encode({name: value for name, value in block.items() if name not in NOT_IN_HEADERS})


def with_time(receipt: bytes, timestamp: int) -> JsonText:
    """Return a receipt's JSON text with its block's time as a JSON number, as in erigon."""
    return b'%b,"timestamp":%d}' % (receipt[:-1], timestamp)


def _number(view: Snapshot, block: NumberOrTag) -> int | None:
    return numbered(view, LATEST if block == PENDING else block)


def _stored(view: Snapshot, number: int | None) -> tuple[Rows | None, Row | None]:
    return (None, None) if number is None else (rows(view, number), view.receipts(number))


def _details(view: Snapshot, number: int | None) -> Steps:
    found, receipts = _stored(view, number)
    if found is None or receipts is None:
        return NULL
    own, *ommers = block_rewards(view.spec, found) or [0]
    text: bytes = yield RunInThread(lambda _cancel: _described(found, receipts, own, sum(ommers)))
    return text


def _described(found: Rows, receipts: Row, own: int, of_ommers: int) -> JsonText:
    block = msgspec.json.decode(render_block(*found, full=False))
    block["transactionCount"] = len(block.pop("transactions"))
    block["logsBloom"] = None
    paid = msgspec.json.decode(render_receipts(*found, receipts), type=list[BlockFees])
    fees = sum(int(each.gas_used, 16) * int(each.effective_gas_price, 16) for each in paid)
    issuance = {"blockReward": hex(own), "uncleReward": hex(of_ommers), "issuance": hex(own + of_ommers)}
    return msgspec.json.encode({"block": block, "issuance": issuance, "totalFees": hex(fees)})


def _page(found: Rows, receipts: Row, first: int, last: int) -> JsonText:
    block = msgspec.json.decode(render_block(*found, full=True))
    block["transactionCount"] = len(block["transactions"])
    block["logsBloom"] = None
    block["transactions"] = block["transactions"][first:last]
    for transaction in block["transactions"]:
        transaction["input"] = transaction["input"][:SELECTOR]
    of_block = msgspec.json.decode(render_receipts(*found, receipts))[first:last]
    timestamp = header_fields(found[0]).timestamp
    for receipt in of_block:
        receipt |= {"logs": None, "logsBloom": None, "timestamp": timestamp}
    return msgspec.json.encode({"fullblock": block, "receipts": of_block})


def add_methods(registry: Registry, pending: PendingState) -> None:
    """Register this module's methods."""
    methods = OtterscanBlockMethods(pending)
    registry.method("ots_getApiLevel", result=COUNT)(get_api_level)
    registry.method("ots_hasCode", result=BOOLEAN, errors=STATE_ERRORS, contracts=account_of)(
        methods.has_code
    )
    registry.method("ots_getBlockDetails", result=DETAILS)(methods.get_details)
    registry.method("ots_getBlockDetailsByHash", result=DETAILS)(methods.get_details_by_hash)
    registry.method("ots_getBlockTransactions", result=FULL_BLOCK)(methods.get_transactions)
    registry.method("erigon_getHeaderByNumber", result=or_null(HEADER))(get_header)
