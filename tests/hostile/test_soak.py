"""An hour of all attacks together takes nothing from honest clients, and leaves nothing behind.

    pytest -m soak -n 0 -s tests/hostile/test_soak.py

The node has the allocator of `deploy/wsnode.service`, where that is installed.
`WSNODE_SOAK_SECONDS` makes it shorter; -s shows the table while it grows.
"""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tests.hostile.addresses import isolated
from tests.hostile.soak import Outcome
from tests.vector_files import CHECKOUT

SECONDS = os.environ.get("WSNODE_SOAK_SECONDS", "3600")


@pytest.mark.soak
def test_honest_clients_lose_nothing_to_all_attacks_together(tmp_path: Path) -> None:
    command = [*isolated(), sys.executable, "-m", "tests.hostile.soak", str(tmp_path), SECONDS]
    ended = subprocess.run(command, cwd=CHECKOUT, check=False)
    assert ended.returncode == 0, (tmp_path / "node.log").read_text()[-4000:]
    outcome = msgspec.json.decode((tmp_path / "outcome.json").read_bytes(), type=Outcome)
    assert list(outcome.complaints()) == []
