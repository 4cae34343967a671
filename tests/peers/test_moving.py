"""docs/how-to/moving.md has every flag of anvil, and names none that `wsnode` does not take."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.node_process import run
from tests.peers.anvil import require
from wsnode.cli.anvil.command import anvil
from wsnode.cli.anvil.ignored import IGNORED

PAGE = Path(__file__).parents[2] / "docs" / "how-to/moving.md"


def section(name: str) -> str:
    return PAGE.read_text().split(f"## {name}\n")[1].split("\n## ")[0]


def flags_of(help_text: str) -> set[str]:
    return set(re.findall(r"^ +(?:-\w, )?(--[a-z0-9-]+)", help_text, re.MULTILINE))


@pytest.mark.slow
def test_every_flag_of_anvil_has_its_place() -> None:
    printed = subprocess.run([require("anvil"), "--help"], capture_output=True, text=True, check=True).stdout
    flags = flags_of(printed)
    assert len(flags) > 50
    lists = PAGE.read_text().split("\n## ")[0] + section("Flags of anvil")
    assert flags - set(re.findall(r"--[a-z0-9-]+", lists)) == set()


def test_the_lists_at_the_beginning_are_those_of_the_command() -> None:
    begin = PAGE.read_text().split("\n## ")[0]
    works = begin.split("**Accepted and ignored.**")[0]
    ours = {name for option in anvil.params for name in option.opts}
    ignored = {name for flag in IGNORED for name in flag.names}
    assert "**Not there.**" in begin
    named = set(re.findall(r"--[a-z0-9-]+", works))
    assert len(named) > 30
    assert named <= ours - ignored
    table = section("Flags of anvil").split("### Flags that are ignored")[1]
    rows = [line.split(" | ")[0] for line in table.splitlines() if line.startswith("| `")]
    # What `--network` names is ignored, and all names but ethereum have a warning.
    listed = {flag for row in rows for flag in re.findall(r"--[a-z0-9-]+", row)} - {"--network"}
    assert listed == {flag.names[0] for flag in IGNORED}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Flags of anvil", "Flags of `hardhat node`", "Flags of geth"])
def test_the_flags_to_use_instead_exist(name: str) -> None:
    commands: tuple[list[str], ...] = (["dev"], ["serve"], ["follow"], ["import", "eth"], [])
    known = set[str]().union(
        *(re.findall(r"--[a-z-]+", run(*command, "--help").stdout) for command in commands)
    )
    rows = [line.split(" | ")[-1] for line in section(name).splitlines() if line.startswith("| ")]
    named = {flag for row in rows for flag in re.findall(r"--[a-z-]+", row)} - {"---"}
    assert named
    assert named - known == set()
    same = section("Flags of anvil").split("|", 1)[0]
    assert set(re.findall(r"--[a-z-]+", same)) - known == set()
