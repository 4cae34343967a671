"""docs/limits.md says what the code does."""

import re
from pathlib import Path

import msgspec
import pytest

from wsnode.ethereum.pool.limits import PoolLimits
from wsnode.ethereum.rpc.limits import CallLimits
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
