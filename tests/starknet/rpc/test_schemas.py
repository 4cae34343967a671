"""Every `starknet_` reply against the shape that starknet-specs gives it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.reply_schemas import ReplySchemas, document_of
from tests.starknet.conftest import Call, caller_of
from tests.vector_files import require_vectors
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.header_json import ADDED_MEMBERS
from wsnode.starknet.proofs.prover import StateProver
from wsnode.starknet.rpc.forwarded.methods import FORWARDED
from wsnode.starknet.rpc.methods import build_registry
from wsnode.sync.starknet_folder import import_folder

jsonschema = pytest.importorskip("jsonschema", reason="replies are validated with jsonschema")
SCHEMAS, OF_TRANSACTIONS, OF_PROOFS = (
    json.loads(Path(__file__).with_name(f"{name}_schemas.json").read_text())
    for name in ("reply", "transaction", "storage_proof")
)
for part in ("$defs", "results"):
    SCHEMAS[part] |= OF_TRANSACTIONS[part] | OF_PROOFS[part]
ADDRESS = "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6"
CLASS = "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8"

REQUESTS: dict[str, list[list[Any]]] = {
    "starknet_getStateUpdate": [
        *([{"block_number": number}] for number in range(10)),
        ["latest"],
        ["pending"],
        ["pre_confirmed"],
        ["latest", [ADDRESS]],
    ],
    "starknet_getClassAt": [["latest", ADDRESS], ["pending", ADDRESS]],
    "starknet_getClass": [["latest", CLASS]],
    "starknet_getClassHashAt": [["latest", ADDRESS], [{"block_number": 0}, ADDRESS]],
    "starknet_getStorageAt": [
        [ADDRESS, "0x5", "latest"],
        [ADDRESS, "0x6", "pending"],
        [ADDRESS, "0x5", "latest", ["INCLUDE_LAST_UPDATE_BLOCK"]],
    ],
    "starknet_getNonce": [["latest", ADDRESS]],
    "starknet_blockNumber": [[]],
    "starknet_blockHashAndNumber": [[]],
    "starknet_chainId": [[]],
    "starknet_specVersion": [[]],
    "starknet_syncing": [[]],
}


DOCUMENT = ReplySchemas(document_of(build_registry()))


def before_0_10(schema: Any) -> Any:
    """Return a schema without the members that starknet-specs 0.10 has added, which 0.9 refuses."""
    if isinstance(schema, list):
        return [before_0_10(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    older = {name: before_0_10(inner) for name, inner in schema.items()}
    if "properties" in older:
        older["properties"] = {
            name: inner for name, inner in older["properties"].items() if name not in SINCE_0_10
        }
    if "required" in older:
        older["required"] = [name for name in older["required"] if name not in SINCE_0_10]
    return older


SINCE_0_10 = ADDED_MEMBERS | {
    *("transaction_index", "event_index", "migrated_compiled_classes", "proof_facts", "last_update_block")
}
SCHEMAS_0_9 = before_0_10(SCHEMAS)
SCHEMAS_0_9["$defs"]["PRE_CONFIRMED_STATE_UPDATE"]["required"] = ["old_root", "state_diff"]
SCHEMAS_0_9["results"]["starknet_getStorageAt"] = {"$ref": "#/$defs/FELT"}
SCHEMAS_0_9["results"]["starknet_specVersion"]["pattern"] = r"^0\.9\.\d+$"


def validate(method: str, result: Any) -> None:
    """Check a result against starknet-specs and against the node's own document."""
    validate_as_specified(method, result)
    DOCUMENT.validate(method, result)


def validate_as_specified(method: str, result: Any, version: str = "v0_10") -> None:
    """Check a result against starknet-specs 0.10 or 0.9."""
    schemas = SCHEMAS if version == "v0_10" else SCHEMAS_0_9
    schema = {"$defs": schemas["$defs"], "allOf": [schemas["results"][method]]}
    jsonschema.Draft202012Validator(schema).validate(result)


def validate_as(name: str, value: Any) -> None:
    """Check `value` against a schema by its name in starknet-specs."""
    schema = {"$defs": SCHEMAS["$defs"], "allOf": [{"$ref": f"#/$defs/{name}"}]}
    jsonschema.Draft202012Validator(schema).validate(value)


def cases() -> Iterator[tuple[str, list[Any]]]:
    for method, requests in REQUESTS.items():
        for params in requests:
            yield method, params


def test_every_method_has_a_schema_and_a_request(chain: StarknetChain) -> None:
    registry = build_registry(prover=StateProver(chain))
    # The replies to forwarded methods are an upstream's.
    forwarded = {f"starknet_{name}" for name in FORWARDED}
    methods = {name for name in registry.methods if name.startswith("starknet_")} - forwarded
    # Blocks of this chain have no transactions: test_transactions and test_state_storage_proofs have others.
    elsewhere = set(OF_TRANSACTIONS["results"]) | set(OF_PROOFS["results"])
    assert methods == set(SCHEMAS["results"]) == set(REQUESTS) | elsewhere


@pytest.mark.parametrize(("method", "params"), list(cases()), ids=lambda value: str(value)[:60])
def test_a_reply_has_the_specified_shape(call: Call, classes: Path, method: str, params: list[Any]) -> None:
    result = call(method, params)
    validate(method, result)
    if method != "starknet_getStateUpdate":
        DOCUMENT.validate(method.replace("starknet", "alt"), result)


@pytest.mark.parametrize(
    "block", [*({"block_number": number} for number in range(10)), "latest", "pending"], ids=str
)
def test_a_flat_state_update_has_the_documented_shape(call: Call, block: Any) -> None:
    DOCUMENT.validate("alt_getStateUpdate", call("alt_getStateUpdate", {"block_id": block}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "first"),
    [("single/mainnet_550000.json.gz", 550000), ("single/mainnet_2800.json.gz", 2800), ("rpc", 3100000)],
)
async def test_later_blocks_have_the_specified_shape(fresh: StarknetChain, source: str, first: int) -> None:
    classes = require_vectors("starknet/rpc" if first == 550000 else "starknet/classes")
    await import_folder(fresh, require_vectors(f"starknet/{source}"), classes, first_block=first)
    call = caller_of(fresh)
    update = call("starknet_getStateUpdate", ["latest"])
    validate("starknet_getStateUpdate", update)
    diff = update["state_diff"]
    contracts = [(item["address"], item["class_hash"]) for item in diff["deployed_contracts"]]
    contracts += [(item["contract_address"], item["class_hash"]) for item in diff["replaced_classes"]]
    for address, _ in {class_hash: (address, class_hash) for address, class_hash in contracts}.values():
        validate("starknet_getClassAt", call("starknet_getClassAt", ["latest", address]))
    for nonce in diff["nonces"][:3]:
        validate("starknet_getNonce", call("starknet_getNonce", ["latest", nonce["contract_address"]]))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda reply: reply.pop("new_root"),
        lambda reply: reply.update(block_hash="0x01"),
        lambda reply: reply["state_diff"].pop("nonces"),
        lambda reply: reply["state_diff"].update(migrated_compiled_classes=[]),
        lambda reply: reply["state_diff"].update(replaced_classes=[{"address": "0x1", "class_hash": "0x2"}]),
        lambda reply: reply["state_diff"].update(
            storage_diffs=[{"address": "0x1", "key": "0x2", "value": "0x3"}]
        ),
    ],
)
def test_the_schema_refuses_what_clients_stumbled_over(call: Call, spoil: Callable[[Any], object]) -> None:
    reply = call("starknet_getStateUpdate", [{"block_number": 0}])
    spoil(reply)
    for check in (validate_as_specified, DOCUMENT.validate):
        with pytest.raises(jsonschema.ValidationError):
            check("starknet_getStateUpdate", reply)
