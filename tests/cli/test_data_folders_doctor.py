"""`wsnode doctor` as a process: its report, its exit status, and a node that writes beside it."""

import json
from contextlib import closing
from pathlib import Path

import pytest

from tests.ethereum.live.growing import EMITTERS, growing_chain
from tests.node_process import run
from wsnode.ethereum.storage.tables import BODIES, TABLES, number_key
from wsnode.store.environment import Environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("doctor")
    with growing_chain(folder / "eth") as growing:
        for _ in range(3):
            growing.grow([(EMITTERS[0], ())])
    return folder


def test_a_sound_folder_is_said_to_be_sound_while_another_process_writes_it(tmp_path: Path) -> None:
    with growing_chain(tmp_path / "eth") as growing:
        growing.grow([(EMITTERS[0], ())])
        told = run("doctor", "--data", str(tmp_path))
    assert (told.returncode, told.stderr) == (0, "")
    first, last = told.stdout.splitlines()
    assert first.startswith("eth: blocks 0 to 1 0x")
    assert "2 blocks, 1 transactions, 1 logs" in first
    assert last == "sound"


def test_faults_are_listed_and_are_exit_status_1(data: Path) -> None:
    with closing(Environment(data / "eth/chain", TABLES, writer=True, durable=False)) as store:
        store.write(lambda writer: writer.delete(BODIES, number_key(2)))
    told = run("doctor", "--data", str(data))
    assert told.returncode == 1
    assert "  bodies: 1 fault" in told.stdout.splitlines()
    assert told.stdout.splitlines()[-1].startswith("not sound: ")
    report = json.loads(run("doctor", "--json", "--data", str(data)).stdout)
    assert report["sound"] is False
    fault = report["families"]["eth"]["faults"]["bodies"]["first"][0]
    assert (fault["number"], fault["text"]) == (2, "there is no row")


def test_a_folder_that_cannot_be_read_is_exit_status_2(tmp_path: Path) -> None:
    told = run("doctor", "--data", str(tmp_path / "none"))
    assert (told.returncode, told.stdout) == (2, "")
    assert told.stderr.startswith("error: ")
