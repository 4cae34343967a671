"""The document of a whole network: of either family alone, and of both."""

import json
import typing
from collections.abc import Callable
from inspect import isclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.memory_transport import asking, memory_transport
from tests.reply_schemas import ReplySchemas, vague_places, validating
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.development_service import DevelopmentService, DevelopmentSettings
from wsnode.demo.run import build_ethereum
from wsnode.demo.starknet_chain import build_starknet
from wsnode.ethereum.primitives.values import Address
from wsnode.ethereum.rpc.calls.call_object import CallObject
from wsnode.ethereum.rpc.calls.overrides import StateOverrides
from wsnode.ethereum.rpc.logs.filter_object import FilterObject
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.jsonrpc.errors import INTERNAL_ERROR, INVALID_PARAMS
from wsnode.jsonrpc.registry import Registry
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, NetworkConfig
from wsnode.server.access.api_keys import ApiKey, KeyLimits
from wsnode.server.access.router import Caller
from wsnode.server.limit_report import NodeLimits, register_limits
from wsnode.server.limits import Limits

FAMILIES: dict[str, list[Callable[[Path], Any]]] = {
    "eth": [build_ethereum],
    "alt": [build_starknet],
    "both": [build_ethereum, build_starknet],
}

OF_ANY_ACCOUNT = {
    "eth_getBalance",
    "eth_getTransactionBySenderAndNonce",
    "eth_getTransactionCount",
    "ots_getTransactionBySenderAndNonce",
    "txpool_contentFrom",
}
"""What users ask of their own accounts, which no list of contracts can name beforehand."""


@pytest.mark.parametrize("families", FAMILIES)
def test_the_document_says_exactly_what_every_method_takes_and_returns(tmp_path: Path, families: str) -> None:
    for build in FAMILIES[families]:
        build(tmp_path)
    told = NetworkConfig(str(tmp_path))
    grow = (
        None
        if families == "alt"
        else DevelopmentService(DevelopmentSettings(0, ACCOUNTS), with_traffic=False)
    )
    with open_network("one", told, Config(networks={"one": told}, open=True), grow=grow) as network:
        register_limits(network, lambda: NodeLimits(Limits(), Limits().share(2), 2))
        ask = validating(asking(Dispatcher(network.registry, network.open_view)))
        document = ask("rpc.discover")["result"]
        assert [method["name"] for method in document["methods"]] == sorted(network.registry.methods)
        assert vague_places(document) == []


@pytest.mark.parametrize("families", FAMILIES)
@pytest.mark.parametrize("grows", [False, True], ids=["served", "growing"])
def test_every_method_says_what_it_does_returns_and_refuses(
    tmp_path: Path, families: str, grows: bool
) -> None:
    for build in FAMILIES[families]:
        build(tmp_path)
    told = NetworkConfig(str(tmp_path))
    grow = DevelopmentService(DevelopmentSettings(0, ACCOUNTS), with_traffic=False) if grows else None
    with open_network("one", told, Config(networks={"one": told}, open=True), grow=grow) as network:
        register_limits(network, lambda: NodeLimits(Limits(), Limits().share(2), 2))
        for name, method in network.registry.methods.items():
            assert method.summary, name
            assert method.result, name
            assert {INVALID_PARAMS, INTERNAL_ERROR} <= {error.code for error in method.errors}, name


def test_the_limits_fit_their_schema(tmp_path: Path) -> None:
    build_starknet(tmp_path)
    told = NetworkConfig(str(tmp_path))
    with open_network("one", told, Config(networks={"one": told}, open=True)) as network:
        register_limits(network, lambda: NodeLimits(Limits(), Limits().share(2), 2))
        dispatcher = Dispatcher(network.registry, network.open_view)
        schemas = ReplySchemas(asking(dispatcher)("rpc.discover")["result"])
        rates = KeyLimits(requests_per_second=5, credits={"eth_call": 2}, origins=("https://one.example",))
        for api_key in (None, ApiKey("somebody", rates)):
            send = memory_transport(dispatcher, Caller(network="one", api_key=api_key))
            reply = send('{"jsonrpc":"2.0","id":1,"method":"rpc_limits"}')
            assert reply is not None
            schemas.validate("rpc_limits", json.loads(reply)["result"])


def holds(annotation: Any, wanted: tuple[type, ...], seen: set[Any]) -> bool:
    """Tell whether a value of that type may have one of the `wanted` ones in it."""
    if parts := typing.get_args(annotation):
        return any(holds(part, wanted, seen) for part in parts)
    if not isclass(annotation) or annotation in seen:
        return False
    seen.add(annotation)
    if issubclass(annotation, wanted):
        return True
    if annotation.__module__.partition(".")[0] != "wsnode":
        return False
    members = [typing.get_type_hints(annotation)]
    if annotation.__init__ is not object.__init__ and not issubclass(annotation, msgspec.Struct):
        members.append(typing.get_type_hints(annotation.__init__))
    return any(holds(member, wanted, seen) for hints in members for member in hints.values())


def without_contracts(registry: Registry, *wanted: type) -> set[str]:
    """The methods whose parameters hold one of the `wanted` types, but that name no contracts."""
    return {
        method.name
        for method in registry.methods.values()
        if method.contracts is None and holds(method.parameters.struct, wanted, set())
    }


def test_whatever_takes_a_call_or_a_filter_names_the_contracts_in_it(tmp_path: Path) -> None:
    build_ethereum(tmp_path)
    build_starknet(tmp_path)
    told = NetworkConfig(str(tmp_path))
    grow = DevelopmentService(DevelopmentSettings(0, ACCOUNTS), with_traffic=False)
    with open_network("one", told, Config(networks={"one": told}, open=True), grow=grow) as network:
        assert without_contracts(network.registry, CallObject, StateOverrides, FilterObject) == set()


def test_whatever_takes_an_address_where_keys_are_asked_for_names_it(tmp_path: Path) -> None:
    build_ethereum(tmp_path)
    build_starknet(tmp_path)
    told = NetworkConfig(str(tmp_path))
    with open_network("one", told, Config(networks={"one": told})) as network:
        assert without_contracts(network.registry, Address) == OF_ANY_ACCOUNT
        assert {"eth_call", "eth_getCode", "eth_fillTransaction"} <= {
            method.name for method in network.registry.methods.values() if method.contracts is not None
        }
