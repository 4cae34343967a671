"""A node's C library copies by vectors where the processor is slow at bytes."""

import os
from pathlib import Path

import pytest

from tests.node.memory.test_heap import GNU_ONLY, printed
from wsnode.node.memory.copying import TUNABLE, VARIABLE, forget_copying, with_copying

NAME = TUNABLE.partition("=")[0]
SLOW = "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
OTHERS = {
    "another vendor": "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\n",
    "another architecture": "processor\t: 0\nBogoMIPS\t: 243.75\n",
}
# Whether the process began with it (glibc has ended each tunable by a zero), and what programs begin with.
ENVIRONMENTS = f"""
from wsnode.node.memory.heap import has_it
begun = "{TUNABLE}" in Path("/proc/self/environ").read_text()
print(has_it(), begun, os.environ.get("{VARIABLE}"))
"""


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    description = tmp_path / "cpuinfo"
    description.write_text(SLOW)
    return description


def test_bytes_are_copied_by_vectors_where_the_processor_is_slow_at_them(slow: Path) -> None:
    assert with_copying("", slow) == TUNABLE
    assert with_copying("glibc.malloc.perturb=1", slow) == f"glibc.malloc.perturb=1:{TUNABLE}"


def test_what_the_tunables_say_of_it_counts(slow: Path) -> None:
    assert with_copying(f"{NAME}=4096", slow) == f"{NAME}=4096"


@pytest.mark.parametrize("text", OTHERS.values(), ids=OTHERS)
def test_other_processors_are_left_alone(tmp_path: Path, text: str) -> None:
    description = tmp_path / "cpuinfo"
    assert with_copying("", description) == ""
    description.write_text(text)
    assert with_copying("glibc.malloc.perturb=1", description) == "glibc.malloc.perturb=1"


@pytest.mark.parametrize("before", ["", "glibc.malloc.perturb=1", f"{NAME}=4096"])
def test_programs_that_a_node_starts_copy_as_they_would_without_it(
    slow: Path, before: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, with_copying(before, slow))
    forget_copying()
    assert os.environ.get(VARIABLE, "") == before


@GNU_ONLY
@pytest.mark.parametrize("before", [None, "glibc.malloc.perturb=0"])
def test_a_node_begins_with_it_on_this_machine(before: str | None) -> None:
    is_slow = with_copying("") == TUNABLE
    environment = {} if before is None else {VARIABLE: before}
    assert printed(ENVIRONMENTS, environment=environment) == f"True {is_slow} {before}"
