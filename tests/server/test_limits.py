"""docs/reference/limits.md says what the code does."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from tests.server.limit_tables import WRITER, limit_rows, rows_of
from wsnode.cli.keys import add
from wsnode.ethereum.codec import typed_data
from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.accounts.proofs import MAX_KEYS
from wsnode.ethereum.rpc.accounts.storage_values import MAX_SLOTS
from wsnode.ethereum.rpc.calls import call_object, schemas
from wsnode.ethereum.rpc.common.limits import MOST_LIVE, MOST_VALUES, CallLimits
from wsnode.ethereum.rpc.development.schemas import MOST_PLACED
from wsnode.ethereum.rpc.development.signing import MOST_VALUES as MOST_TYPED_VALUES
from wsnode.ethereum.rpc.engine import attributes, blobs, payloads
from wsnode.ethereum.rpc.engine.schemas import MOST_VALUES as MOST_PAYLOAD_VALUES
from wsnode.ethereum.rpc.fees.history import MAX_PERCENTILES
from wsnode.ethereum.rpc.logs.schemas import MOST_ADDRESSES, MOST_HASHES
from wsnode.ethereum.rpc.parity_traces import parameters as traced
from wsnode.ethereum.rpc.parity_traces.schemas import MOST_TYPES
from wsnode.node import config, config_file
from wsnode.server.access.api_keys import KeyLimits
from wsnode.server.limits import Limits
from wsnode.starknet.rpc.forwarded import params as forwarded_params
from wsnode.starknet.rpc.params import MOST_ADDRESSES as MOST_ADDRESSES_OF_EVENTS
from wsnode.starknet.rpc.params import MOST_CONTRACTS, MOST_FLAGS
from wsnode.starknet.storage.event_bloom import MOST_KEYS

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
    ("addresses and slots in the access lists", [call_object.MOST_ACCESSES]),
    ("authorizations of a call", [call_object.MOST_AUTHORIZATIONS]),
    ("blob hashes of a call", [call_object.MOST_BLOBS]),
    ("accounts in its state overrides", [schemas.MOST_ACCOUNTS]),
    ("slots in its state overrides", [schemas.MOST_SLOTS]),
    ("withdrawals of a block", [schemas.MOST_WITHDRAWALS]),
    ("blocks, calls of a block", [schemas.MOST_BLOCKS, schemas.MOST_CALLS, schemas.MOST_CALLS_OF_ALL]),
    ("calls of `trace_callMany`", [traced.MOST_CALLS]),
    ("indices of `trace_get`", [traced.MOST_LEVELS]),
    ("names of trace types", [MOST_TYPES]),
    ("addresses and topics of a filter", [MOST_VALUES]),
    ("addresses in a [selection]", [MOST_ADDRESSES, MOST_ADDRESSES]),
    ("accounts, and slots, of a subscription to `state`", [MOST_LIVE, MOST_LIVE]),
    ("calls of a subscription to `calls`", [MOST_LIVE, call_object.MOST_AUTHORIZATIONS]),
    ("transactions of a subscription to receipts", [MOST_HASHES]),
    ("slots of `eth_getProof`", [MAX_KEYS]),
    ("slots of `eth_getStorageValues`", [MAX_SLOTS]),
    ("percentiles of `eth_feeHistory`", [MAX_PERCENTILES]),
    ("transactions of `anvil_reorg`", [MOST_PLACED]),
    ("transactions of `testing_buildBlockV1`", [attributes.MOST_TRANSACTIONS]),
    ("contracts of `alt_getStateUpdate`", [MOST_CONTRACTS]),
    ("addresses, and keys, of `alt_getEvents`", [MOST_ADDRESSES_OF_EVENTS, MOST_KEYS]),
    ("transactions of `alt_estimateFee`", [forwarded_params.MOST_FORWARDED_TRANSACTIONS]),
    ("felts of a list of a [forwarded]", [forwarded_params.MOST_FORWARDED_FELTS]),
    (
        "felts of the program, and entry points of a kind,",
        [forwarded_params.MOST_PROGRAM_FELTS, forwarded_params.MOST_ENTRY_POINTS],
    ),
    ("response, simulation and trace flags", [MOST_FLAGS]),
    ("values of [typed data]", [MOST_TYPED_VALUES]),
    (
        "types of typed data",
        [typed_data.MOST_TYPES, typed_data.MOST_MEMBERS, typed_data.MOST_CHARACTERS, typed_data.MOST_NAME],
    ),
    ("arrays of typed data", [typed_data.MOST_LEVELS]),
    ("block hashes of `engine_getPayloadBodiesByHashV1`", [payloads.MOST_BODIES]),
    ("blob hashes of `engine_getBlobs…`", [blobs.MOST_BLOBS]),
    ("blob hashes, execution requests", [payloads.MOST_BLOBS, payloads.MOST_REQUESTS]),
    ("JSON values of a payload", [MOST_PAYLOAD_VALUES]),
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
