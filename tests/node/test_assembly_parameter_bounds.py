"""Every list among the parameters of a method has a bound, which is checked before its items are decoded."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import pytest

from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.development_service import DevelopmentService, DevelopmentSettings
from wsnode.demo.genesis import demo_genesis
from wsnode.demo.run import build_ethereum
from wsnode.demo.starknet_chain import build_starknet
from wsnode.ethereum.rpc.engine.schemas import MAX_VALUES
from wsnode.jsonrpc.errors import RpcError
from wsnode.jsonrpc.openrpc.document import OpenRpcWriter
from wsnode.jsonrpc.registry import Registry
from wsnode.jsonrpc.schema import Schema
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, EngineConfig, NetworkConfig

KEY: Final = "0x" + "12" * 20
"""The name of a member of an object with arbitrary names."""
COUNTED_WITH_ALL: Final = MAX_VALUES
"""Lists with this bound are counted with all values of a message to a consensus client's port."""
SUBSCRIPTIONS: Final = {
    "transactionHashes": "transactionReceipts",
    "fromAddress": "alchemy_pendingTransactions",
    "toAddress": "alchemy_pendingTransactions",
    "addresses": "alchemy_minedTransactions",
    "calls": "calls",
    "accounts": "state",
    "slots": "state",
}
"""Kinds of subscription by the names of their members that are lists."""
WORDS: Final = ("too many", "exceed max", "over the query limit", "Too large request", "Too many")


class Place(NamedTuple):
    """A list or an object with arbitrary names, somewhere in a parameter."""

    method: str
    steps: tuple[int | str, ...]
    """Positions in lists and names of members that lead to it, from the parameters on."""
    schema: Schema
    parents: tuple[Schema, ...]
    """The schemas of the values on the way."""

    def __str__(self) -> str:
        return f"{self.method}:{'.'.join(map(str, self.steps))}"


class Walk:
    """Finds the lists among the parameters of one registry."""

    def __init__(self, registry: Registry) -> None:
        document = OpenRpcWriter(registry).write("", "")
        self._components: Mapping[str, Schema] = document["components"]["schemas"]
        self.methods: Mapping[str, Sequence[Schema]] = {
            method["name"]: method["params"] for method in document["methods"]
        }
        self.by_name = {
            method["name"] for method in document["methods"] if method["paramStructure"] == "by-name"
        }

    def places(self) -> Iterator[Place]:
        for method, parameters in self.methods.items():
            for position, parameter in enumerate(parameters):
                yield from self._inside(Place(method, (position,), parameter["schema"], ()), ())

    def resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            schema = self._components[schema["$ref"].rpartition("/")[2]]
        return schema

    def _inside(self, place: Place, seen: tuple[Schema, ...]) -> Iterator[Place]:
        schema = self.resolved(place.schema)
        if any(schema is other for other in seen):
            return
        seen += (schema,)
        for alternative in schema.get("anyOf", ()):
            yield from self._inside(place._replace(schema=alternative), seen)
        if schema.get("type") == "array":
            yield place._replace(schema=schema)
            items = schema.get("prefixItems") or [schema["items"]]
            for index, item in enumerate(items):
                yield from self._inside(self._below(place, schema, index, item), seen)
        if "additionalProperties" in schema and schema["additionalProperties"] is not False:
            yield place._replace(schema=schema)
            yield from self._inside(self._below(place, schema, KEY, schema["additionalProperties"]), seen)
        for name, member in schema.get("properties", {}).items():
            yield from self._inside(self._below(place, schema, name, member), seen)

    def _below(self, place: Place, schema: Schema, step: int | str, item: Schema) -> Place:
        return Place(place.method, (*place.steps, step), item, (*place.parents, schema))

    def value(self, place: Place, content: Any) -> Any:
        """Return the parameters with `content` at a place, and only what must be there elsewhere."""
        for schema, step in zip(reversed(place.parents), reversed(place.steps), strict=False):
            if type(step) is int:
                content = self._array(schema, step, content)
            else:
                others = {
                    name: self.sample(schema["properties"][name]) for name in schema.get("required", ())
                }
                content = {**others, step: content}
        parameters = self.methods[place.method]
        given = [self.sample(each["schema"]) for each in parameters if each["required"]]
        first = place.steps[0]
        assert isinstance(first, int)
        for name, kind in SUBSCRIPTIONS.items():
            if place.method == "eth_subscribe" and name in place.steps:
                given[0] = "newPendingTransactions" if first == 2 else kind
        given[first:] = [None] * (first - len(given)) + [content] + given[first + 1 :]
        if place.method in self.by_name:
            return {
                each["name"]: value
                for each, value in zip(parameters, given, strict=False)
                if value is not None
            }
        return given

    def _array(self, schema: Schema, step: int, content: Any) -> list[Any]:
        if "prefixItems" not in schema:
            return [content]
        return [
            content if index == step else self.sample(item)
            for index, item in enumerate(schema["prefixItems"])
        ]

    def sample(self, schema: Schema) -> Any:
        """Return a value that fits a schema."""
        schema = self.resolved(schema)
        if "anyOf" in schema:
            return self.sample(schema["anyOf"][0])
        if "enum" in schema:
            return schema["enum"][0]
        if schema.get("type") == "array":
            return [self.sample(item) for item in schema.get("prefixItems", ())]
        if schema.get("type") == "object":
            return {name: self.sample(schema["properties"][name]) for name in schema.get("required", ())}
        if "pattern" in schema:
            sizes = (64, 40, 2)
            digits = next((size for size in sizes if f"{{{size}}}" in schema["pattern"]), 1)
            return "0x" + "0" * digits
        if schema.get("type") == "integer":
            return schema.get("minimum", 0)
        return {"string": "logs", "boolean": True, "null": None}.get(schema.get("type", ""), 0)


@pytest.fixture(scope="module")
def registries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Registry]]:
    """Yield the methods of a development chain beside a Starknet chain, and those of an engine chain."""
    folder = tmp_path_factory.mktemp("both")
    build_ethereum(folder)
    build_starknet(folder)
    both = NetworkConfig(str(folder))
    grow = DevelopmentService(DevelopmentSettings(0, ACCOUNTS), with_traffic=False)
    genesis = folder / "genesis.json"
    genesis.write_bytes(demo_genesis())
    driven = NetworkConfig(str(folder / "engine"), engine=EngineConfig(genesis=str(genesis)))
    with (
        open_network("one", both, Config(networks={"one": both}, open=True), grow=grow) as one,
        open_network("two", driven, Config(networks={"two": driven}, open=True)) as two,
    ):
        yield [one.registry, *(port.network.registry for port in two.ports)]


def places(registries: Sequence[Registry]) -> Iterator[tuple[Registry, Walk, Place, int | None]]:
    for registry in registries:
        walk = Walk(registry)
        for place in walk.places():
            yield registry, walk, place, place.schema.get("maxItems", place.schema.get("maxProperties"))


def test_every_list_has_a_bound(registries: list[Registry]) -> None:
    found = list(places(registries))
    assert len(found) > 100
    assert [str(place) for _, _, place, most in found if most is None] == []


@pytest.mark.slow
def test_a_list_beyond_its_bound_is_refused_before_an_item_is_decoded(registries: list[Registry]) -> None:
    wrong = []
    for registry, walk, place, most in places(registries):
        if most is None or most == COUNTED_WITH_ALL or "prefixItems" in place.schema:
            continue
        # No item is valid: an error about one would mean that it was decoded.
        count = most + 1
        content: Any = [[]] * count if place.schema["type"] == "array" else {f"{n}": [] for n in range(count)}
        params = json.dumps(walk.value(place, content)).encode()
        try:
            registry.methods[place.method].parameters.read(params)
        except RpcError as error:
            told = f"{error.message} {error.data}"
            if any(words in told for words in WORDS):
                continue
            wrong.append(f"{place}: {told}")
        else:
            wrong.append(f"{place}: accepted")
    assert wrong == []


@pytest.mark.parametrize(
    ("method", "params", "noun"),
    [
        pytest.param(
            "eth_call",
            [{"accessList": [{"address": KEY, "storageKeys": [[]] * 5_000}] * 2}],
            "addresses and slots in access lists: 10002, want at most 10000",
            id="an access list",
        ),
        pytest.param(
            "eth_call",
            [{}, "latest", {KEY: {"stateDiff": {f"{n}": [] for n in range(15_000)}, "state": {"0": []}}}],
            None,
            id="overridden slots below the bound",
        ),
        pytest.param(
            "eth_simulateV1",
            [
                {
                    "blockStateCalls": [
                        {"stateOverrides": {KEY: {"state": {f"{n}": [] for n in range(10_001)}}}}
                    ]
                    * 2
                }
            ],
            "overridden slots: 20002, want at most 20000",
            id="the slots that all blocks of a simulation override",
        ),
        pytest.param(
            "trace_callMany",
            [[[{"accessList": [{}] * 101}, ["trace"]]] * 100],
            "addresses and slots in access lists: 10100, want at most 10000",
            id="the access lists of several calls",
        ),
        pytest.param(
            "eth_getLogs",
            [{"address": [[]] * 10_001, "topics": [None, [[]] * 10_000]}],
            "addresses and topics in the filter: 20001, want at most 20000",
            id="addresses and topics of a filter",
        ),
    ],
)
def test_lists_of_one_request_are_counted_together(
    registries: list[Registry], method: str, params: list[Any], noun: str | None
) -> None:
    with pytest.raises(RpcError) as refused:
        registries[0].methods[method].parameters.read(json.dumps(params).encode())
    assert refused.value.code == -32602
    assert (noun in refused.value.message) if noun else ("too many" not in refused.value.message)
