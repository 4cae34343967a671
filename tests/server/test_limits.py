"""docs/limits.md says what the code does."""

import math
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.form.limits import CallLimits
from wsnode.node import config, config_file
from wsnode.server.limits import Limits

PAGE = Path(__file__).parents[2] / "docs" / "limits.md"
ROW = re.compile(r"\| `(\w+)` \| ([\d,.]+)( [KM]iB)? \| ([^|]+) \| ([^|]+) \| ([^|]+) \|")
UNITS = {"": 1, " KiB": 1024, " MiB": 1024 * 1024}


@pytest.mark.parametrize(
    "limits", [Limits(), CallLimits(), PoolLimits()], ids=["server", "methods", "transaction pool"]
)
def test_the_page_names_every_limit_with_its_default(limits: msgspec.Struct) -> None:
    told = {
        row[1]: float(row[2].replace(",", "")) * UNITS[row[3] or ""] for row in ROW.finditer(PAGE.read_text())
    }
    assert {name: told.get(name) for name in limits.__struct_encode_fields__} == msgspec.to_builtins(limits)


def test_sizes_are_in_bytes_and_times_in_seconds() -> None:
    for row in ROW.finditer(PAGE.read_text()):
        unit = next((unit for unit in ("bytes", "seconds") if row[1].endswith(unit)), None)
        assert unit is None or row[4] == unit, row[1]


def every_limit() -> Iterator[tuple[str, type]]:
    for struct in (Limits, CallLimits, PoolLimits):
        for limit in msgspec.structs.fields(struct):
            yield limit.encode_name, type(limit.default)


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
