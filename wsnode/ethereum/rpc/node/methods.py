"""Methods about the node itself: its chain's id, its version, its modules, its head."""

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Final

import msgspec

from wsnode.ethereum.codec.blocks import keccak256
from wsnode.ethereum.rpc.common.parameters import Data
from wsnode.ethereum.rpc.common.results import data, quantity
from wsnode.ethereum.rpc.common.schemas import ADDRESS, HASH, QUANTITY
from wsnode.ethereum.snapshot import Snapshot
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import BOOLEAN, STRING, list_of, mapping_of, text
from wsnode.jsonrpc.work import JsonText
from wsnode.release import release

DEVELOPMENT_CLIENT: Final = "anvil/v1.7.1"
"""Hardhat's helpers want a version that begins with hardhat, zksync or anvil; others compare what is before
the first slash with `anvil`, and a few read the second part as the version of anvil's methods."""


class DataParameters(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """`[content]`, bytes as hex."""

    content: Data


def block_number(view: Snapshot) -> JsonText:
    """Return the number of the head, a hex quantity as JSON text."""
    return quantity(view.number)


def chain_id(view: Snapshot) -> JsonText:
    """Return the chain id that signatures of transactions include, a hex quantity as JSON text."""
    return quantity(view.chain_id)


def network_id(view: Snapshot) -> JsonText:
    """Return the chain id, a decimal string as JSON text."""
    return b'"%d"' % view.chain_id


def sha3(params: DataParameters) -> JsonText:
    """Return the Keccak-256 hash of `content`, 32 bytes."""
    return data(keccak256(params.content))


def client_version() -> str:
    """Return `name/version/system/language`, the form of other nodes."""
    python = ".".join(map(str, sys.version_info[:3]))
    system = os.uname()
    return f"wsnode/v{release()}/{system.sysname.lower()}-{system.machine}/python{python}"


def development_version() -> str:
    """Return the version of a development chain, with the prefix by which tools recognise anvil's methods."""
    return f"{DEVELOPMENT_CLIENT}/{client_version()}"


def add_methods(registry: Registry, version: Callable[[], str]) -> None:
    """Register this module's methods; `version` returns what the node calls itself."""
    registry.method("eth_blockNumber", cacheable=True, result=QUANTITY)(block_number)
    registry.method("web3_sha3", view=False, result=HASH)(sha3)
    registry.method("eth_chainId", cacheable=True, result=QUANTITY)(chain_id)
    registry.method("net_version", cacheable=True, result=text("[0-9]+"))(network_id)
    constant = partial(registry.method, view=False, cacheable=True)
    constant("eth_accounts", result=list_of(ADDRESS))(
        _constant(b"[]", "Return an empty list: the node has no keys.")
    )
    constant("net_listening", result=BOOLEAN)(
        _constant(b"true", "Return true: the node accepts connections.")
    )

    @constant("web3_clientVersion", result=STRING)
    def name_and_version() -> JsonText:
        """Return the client version: name, version, system and language, separated by slashes."""
        return msgspec.json.encode(version())

    @registry.method("rpc_modules", view=False, result=mapping_of(STRING))
    def modules() -> dict[str, str]:
        """Return an object of the prefixes of all methods (`eth`, `debug`, ...), each with version `1.0`."""
        return dict.fromkeys(sorted({name.split("_")[0] for name in registry.methods if "_" in name}), "1.0")


def _constant(answer: bytes, summary: str) -> Callable[[], JsonText]:
    def constant() -> JsonText:
        return answer

    constant.__doc__ = summary
    return constant
