"""alloy-provider's own tests, with `wsnode anvil` in anvil's place and beside anvil."""

import os
import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.node_process import COMMAND
from tests.peers.anvil import require

VARIABLE = "WSNODE_ALLOY"
"""Names a folder with `source`, the crate, and `tests`, the program of its tests: `.ci/nightly` makes it."""
OTHERWISE = {
    # A block has a gas limit of 5,000 at least.
    "ext::anvil::tests::test_anvil_set_block_gas_limit",
    # No block is earlier than its parent.
    "ext::anvil::tests::test_anvil_set_time",
}
"""Tests that want blocks which no verified chain can have."""
AT_ONCE = 2
MAX_SECONDS = 3600
OUTCOME = re.compile(r"^test (\S+)(?: - should panic)? \.\.\. (ok|FAILED)$", re.MULTILINE)


def require_alloy() -> Path:
    """Return the folder with the crate and its tests; the test is skipped where there is none."""
    place = Path(os.environ.get(VARIABLE, "nowhere"))
    if not (place / "tests").is_file():
        pytest.skip(f"no alloy: a folder that {VARIABLE} names, which .ci/nightly makes with cargo")
    return place


def outcomes(alloy: Path, programs: Path, names: Iterable[str] = ()) -> dict[str, bool]:
    """Run the tests of these names, or all of them, and return which ones passed.

    The folder `programs` has the `anvil` that they start.
    """
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        [alloy / "tests", f"--test-threads={AT_ONCE}", "--exact", *names],
        cwd=alloy / "source",
        env=os.environ | {"PATH": path, "RUST_BACKTRACE": "0"},
        capture_output=True,
        text=True,
        timeout=MAX_SECONDS,
        check=False,
    )
    found = {name: outcome == "ok" for name, outcome in OUTCOME.findall(ended.stdout)}
    assert found, f"{ended.stdout}\n{ended.stderr}"
    return found


def failures(alloy: Path, programs: Path) -> set[str]:
    """Return the tests that fail twice: a node that a busy machine starts too late is no failure."""
    first = {name for name, passed in outcomes(alloy, programs).items() if not passed}
    again = outcomes(alloy, programs, sorted(first)) if first else {}
    return {name for name, passed in again.items() if not passed}


@pytest.mark.nightly
@pytest.mark.timeout(4 * MAX_SECONDS)
def test_tests_of_alloys_provider_pass_as_with_anvil(tmp_path: Path) -> None:
    alloy, theirs = require_alloy(), Path(require("anvil")).parent
    # The script of docs/how-to/moving.md, with the program under test.
    script = tmp_path / "anvil"
    script.write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} anvil "$@"\n')
    script.chmod(0o755)
    assert failures(alloy, tmp_path) - failures(alloy, theirs) <= OTHERWISE
