"""eth_getHeaderBy…: headers of blocks, without transactions."""

from contextlib import suppress
from typing import TypeAlias

import msgspec

from wsnode.ethereum.codec.rendering import render_header
from wsnode.ethereum.rpc.blocks.methods import BlockHashParameters, NumberParameters
from wsnode.ethereum.rpc.common.lookup import is_pending, numbered
from wsnode.ethereum.rpc.common.results import NULL
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import or_null, reference
from wsnode.jsonrpc.work import JsonText

Header: TypeAlias = dict[str, str]


def get_header_by_number(view: Snapshot, params: NumberParameters) -> Header | JsonText:
    """Return the header of a canonical block, or null beyond the head and for a tag that names no block."""
    number = None
    if not is_pending(view, params.block):
        with suppress(RpcError):
            number = numbered(view, params.block)
    header = None if number is None else view.header(number)
    return NULL if header is None else _shown(header)


def get_header_by_hash(view: Snapshot, params: BlockHashParameters) -> Header | JsonText:
    """Return the header of a block, canonical or not, or null if the hash is unknown."""
    number = view.number_of(params.hash)
    header = view.side_header(params.hash) if number is None else view.header(number)
    return NULL if header is None else _shown(header)


def _shown(header: bytes) -> Header:
    """Return a header without the members that are null, as block objects have it."""
    members = msgspec.json.decode(render_header(header))
    return {name: members[name] for name in sorted(members) if members[name] is not None}


def add_methods(registry: Registry) -> None:
    """Register this module's methods."""
    header = or_null(reference("Header"))
    registry.method("eth_getHeaderByNumber", result=header)(get_header_by_number)
    registry.method("eth_getHeaderByHash", result=header)(get_header_by_hash)
