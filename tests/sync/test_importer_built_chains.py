"""What the block builder builds is what any importer finds: our own and geth's."""

import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.drawing import examples
from tests.geth_process import SPARING
from tests.sync.random_chains import build, random_genesis
from tests.sync.test_importer_branches import take as import_blocks
from wsnode.ethereum.chain import Chain

pytestmark = pytest.mark.slow

FORK_SECONDS = 40
LONG, MAX_LENGTH = 60, 12


def rows(folder: Path, genesis: bytes) -> list[tuple[bytes | None, ...]]:
    """Return what a chain holds of each block."""
    with Chain.open(folder, genesis, writer=False) as chain, chain.snapshot() as snapshot:
        return [
            (snapshot.header(number), snapshot.body(number), snapshot.receipts(number))
            for number in range(snapshot.number + 1)
        ]


def take(folder: Path, genesis: bytes, blocks: Sequence[bytes]) -> None:
    async def run() -> None:
        await import_blocks(chain, blocks)

    with Chain.open(folder, genesis, writer=True, durable=False) as chain:
        trio.run(run)


@settings(max_examples=examples(12))
@given(st.randoms(use_true_random=False))
def test_a_built_chain_is_imported_as_it_was_built(chance: random.Random) -> None:
    genesis = random_genesis(FORK_SECONDS)
    with TemporaryDirectory() as temporary:
        built, imported = Path(temporary) / "built", Path(temporary) / "imported"
        blocks = build(built, genesis, chance, chance.randint(1, 15), 4)
        take(imported, genesis, blocks)
        assert len(rows(built, genesis)) == len(blocks) + 1
        assert rows(imported, genesis) == rows(built, genesis)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_geth_imports_a_built_chain_to_the_same_head(seed: int, tmp_path: Path) -> None:
    geth = shutil.which("geth")
    if geth is None:
        pytest.skip("no geth on the path")
    genesis = random_genesis(LONG * 10 // 4)
    blocks = build(tmp_path / "built", genesis, random.Random(seed), LONG, MAX_LENGTH)
    assert sum(map(len, blocks)) > 50_000
    (tmp_path / "genesis.json").write_bytes(genesis)
    (tmp_path / "chain.rlp").write_bytes(b"".join(blocks))
    flags = ["--datadir", str(tmp_path / "geth"), "--state.scheme", "path", *SPARING]
    for command in (
        ["init", "genesis.json"],
        ["import", "chain.rlp"],
        ["export", "again.rlp", "1", str(LONG)],
    ):
        ended = subprocess.run(
            [geth, *flags, *command], capture_output=True, text=True, cwd=tmp_path, timeout=120, check=False
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
    assert (tmp_path / "again.rlp").read_bytes() == b"".join(blocks)
