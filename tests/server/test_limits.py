"""docs/reference/limits.md says what the code does."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.server.limit_tables import WRITER, limit_rows, rows_of
from wsnode.cli.operation import add
from wsnode.ethereum.codec import typed_data
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.accounts.proofs import MAX_KEYS
from wsnode.ethereum.rpc.accounts.storage import MAX_SLOTS
from wsnode.ethereum.rpc.calls import call_object, schemas
from wsnode.ethereum.rpc.common.limits import MAX_LIVE, MAX_VALUES, CallLimits
from wsnode.ethereum.rpc.development.schemas import MAX_PLACED
from wsnode.ethereum.rpc.development.signing import MAX_VALUES as MAX_TYPED_VALUES
from wsnode.ethereum.rpc.engine import attributes, blobs, payloads
from wsnode.ethereum.rpc.engine.schemas import MAX_VALUES as MAX_PAYLOAD_VALUES
from wsnode.ethereum.rpc.fees.history import MAX_PERCENTILES
from wsnode.ethereum.rpc.logs.schemas import MAX_ADDRESSES, MAX_HASHES
from wsnode.ethereum.rpc.parity_traces import parameters as traced
from wsnode.ethereum.rpc.parity_traces.schemas import MAX_TYPES
from wsnode.node import config, config_file
from wsnode.server.access.api_keys import KeyLimits
from wsnode.server.limits import Limits
from wsnode.starknet.rpc.forwarded import params as forwarded_params
from wsnode.starknet.rpc.params import MAX_ADDRESSES as MAX_ADDRESSES_OF_EVENTS
from wsnode.starknet.rpc.params import MAX_CONTRACTS, MAX_FLAGS
from wsnode.starknet.storage.event_bloom import MAX_KEYS as MAX_EVENT_KEYS

(PAGE,) = WRITER.paths


def test_the_page_has_the_tables_of_all_limits() -> None:
    page = PAGE.read_text()
    assert page == WRITER.with_tables(page), "python -m tests.docs.generated"
    named = [name for mark in re.findall(r"<!-- limits: ([\w\s]+) -->", page) for name in mark.split()]
    assert sorted(named) == sorted(limit_rows()) == sorted(name for name, _ in every_limit())


def test_sizes_are_in_bytes_and_times_in_seconds() -> None:
    units = {row.unit for row in limit_rows().values()}
    for row in limit_rows().values():
        assert row.unit == next((each for each in ("bytes", "seconds") if row.name.endswith(each)), row.unit)
    assert {"bytes", "seconds", "calls"} <= units


def test_a_limit_without_a_description_is_a_mistake() -> None:
    class Undescribed(msgspec.Struct):
        unknown: int = 1
        """Something else."""

    with pytest.raises(ValueError, match="unknown: want a docstring"):
        list(rows_of(Undescribed))


def every_limit() -> Iterator[tuple[str, type]]:
    for struct in (Limits, CallLimits, PoolLimits):
        for limit in msgspec.structs.fields(struct):
            yield limit.encode_name, type(limit.default)


@pytest.mark.parametrize("name", KeyLimits.__struct_fields__)
def test_each_limit_of_a_key_has_an_option_and_a_row(name: str) -> None:
    (option,) = next(parameter.opts for parameter in add.params if parameter.name == name)
    table = (
        (PAGE.parent / "serving.md").read_text().partition("| option of `keys add` |")[2].partition("\n\n")[0]
    )
    assert re.search(rf"^\|[^|]*`{option}\b", table, re.MULTILINE)


def refusal(name: str, value: float) -> str:
    content = {"networks": {"one": {"data": "one"}}, "limits": {name: value}}
    with pytest.raises(config.ConfigurationError) as refused:
        config_file.checked(content, Path(), "wsnode.toml")
    return str(refused.value)


@pytest.mark.parametrize(("name", "kind"), list(every_limit()))
def test_a_limit_that_makes_no_sense_is_refused_by_its_name(name: str, kind: type) -> None:
    senseless = (-1, math.nan, math.inf) if kind is float else (-1,)
    for value in senseless:
        assert refusal(name, value).startswith(f"wsnode.toml: limits.{name}: ")


@pytest.mark.parametrize("name", ["fragment_bytes", "connections", "threads", "ping_seconds", "head_seconds"])
def test_without_some_limits_nobody_would_be_answered_so_they_cannot_be_nothing(name: str) -> None:
    assert f"limits.{name}: Expected" in refusal(name, 0)


LISTS = [
    ("addresses and slots in the access lists", [call_object.MAX_ACCESSES]),
    ("authorizations of a call", [call_object.MAX_AUTHORIZATIONS]),
    ("blob hashes of a call", [call_object.MAX_BLOBS]),
    ("accounts in its state overrides", [schemas.MAX_ACCOUNTS]),
    ("slots in its state overrides", [schemas.MAX_SLOTS]),
    ("withdrawals of a block", [schemas.MAX_WITHDRAWALS]),
    ("blocks, calls of a block", [schemas.MAX_BLOCKS, schemas.MAX_CALLS, schemas.MAX_CALLS_OF_ALL]),
    ("calls of `trace_callMany`", [traced.MAX_CALLS]),
    ("indices of `trace_get`", [traced.MAX_LEVELS]),
    ("names of trace types", [MAX_TYPES]),
    ("addresses and topics of a filter", [MAX_VALUES]),
    ("addresses in a [selection]", [MAX_ADDRESSES, MAX_ADDRESSES]),
    ("accounts, and slots, of a subscription to `state`", [MAX_LIVE, MAX_LIVE]),
    ("calls of a subscription to `calls`", [MAX_LIVE, call_object.MAX_AUTHORIZATIONS]),
    ("transactions of a subscription to receipts", [MAX_HASHES]),
    ("slots of `eth_getProof`", [MAX_KEYS]),
    ("slots of `eth_getStorageValues`", [MAX_SLOTS]),
    ("percentiles of `eth_feeHistory`", [MAX_PERCENTILES]),
    ("transactions of `anvil_reorg`", [MAX_PLACED]),
    ("transactions of `testing_buildBlockV1`", [attributes.MAX_TRANSACTIONS]),
    ("contracts of `alt_getStateUpdate`", [MAX_CONTRACTS]),
    ("addresses, and keys, of `alt_getEvents`", [MAX_ADDRESSES_OF_EVENTS, MAX_EVENT_KEYS]),
    ("transactions of `alt_estimateFee`", [forwarded_params.MAX_FORWARDED_TRANSACTIONS]),
    ("felts of a list of a [forwarded]", [forwarded_params.MAX_FORWARDED_FELTS]),
    (
        "felts of the program, and entry points of a kind,",
        [forwarded_params.MAX_PROGRAM_FELTS, forwarded_params.MAX_ENTRY_POINTS],
    ),
    ("response, simulation and trace flags", [MAX_FLAGS]),
    ("values of [typed data]", [MAX_TYPED_VALUES]),
    (
        "types of typed data",
        [typed_data.MAX_TYPES, typed_data.MAX_MEMBERS, typed_data.MAX_CHARACTERS, typed_data.MAX_NAME],
    ),
    ("arrays of typed data", [typed_data.MAX_LEVELS]),
    ("block hashes of `engine_getPayloadBodiesByHashV1`", [payloads.MAX_BODIES]),
    ("blob hashes of `engine_getBlobs…`", [blobs.MAX_BLOBS]),
    ("blob hashes, execution requests", [payloads.MAX_BLOBS, payloads.MAX_REQUESTS]),
    ("JSON values of a payload", [MAX_PAYLOAD_VALUES]),
]
"""What the page says of lists among parameters: the beginning of each row, and its bounds."""


def test_the_page_names_the_bound_of_every_list() -> None:
    section = PAGE.read_text().partition("## Lists among parameters")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    told = [(row[0].removeprefix("| "), row[1]) for row in rows]
    assert len(told) == len(LISTS)
    for (name, bounds), (start, numbers) in zip(told, LISTS, strict=True):
        assert name.startswith(start)
        assert bounds == ", ".join(f"{number:,}" for number in numbers), name
