import gzip
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from tests.vector_files import require_vectors
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.head import Head
from wsnode.ethereum.state import InvalidBlockError
from wsnode.ethereum.storage.errors import ChainBusyError, OtherGenesisError
from wsnode.ethereum.storage.tables import TABLES
from wsnode.store.table import scan
from wsnode.sync import importer
from wsnode.sync.errors import SourceError, UnknownParentError
from wsnode.sync.importer import import_files
from wsnode.sync.progress import NullProgress, ProgressStep
from wsnode.sync.rlp_files import RlpFiles

pytestmark = pytest.mark.slow

HEAD_NUMBER = 54


@pytest.fixture
def blocks() -> list[bytes]:
    with RlpFiles([str(require_vectors("execution-apis") / "chain.rlp")]) as source:
        return [block.encoded for block in source.next_batch()]


@pytest.fixture
def genesis() -> bytes:
    return (require_vectors("execution-apis") / "genesis.json").read_bytes()


@pytest.fixture
def chain(tmp_path: Path, genesis: bytes) -> Iterator[Chain]:
    with Chain.open(tmp_path / "eth", genesis, writer=True, durable=False) as chain:
        yield chain


class Recorder:
    def __init__(self) -> None:
        self.steps: list[ProgressStep] = []

    def advanced(self, step: ProgressStep) -> None:
        self.steps.append(step)


async def take(chain: Chain, tmp_path: Path, content: bytes) -> Head:
    file = tmp_path / "import.rlp"
    file.write_bytes(content)
    return await import_files(chain, [str(file)], NullProgress())


def tables(chain: Chain) -> dict[str, list[tuple[bytes, bytes]]]:
    """Return all rows but the lists of changes, of which each commit has one."""
    kept = [table for table in TABLES if table.name != "changes"]
    with chain.snapshot() as snapshot:
        return {table.name: list(scan(snapshot.reader, table, b"\0")) for table in kept}


async def test_the_whole_chain_is_imported(chain: Chain, tmp_path: Path, blocks: list[bytes]) -> None:
    head = await take(chain, tmp_path, b"".join(blocks))
    assert head.number == HEAD_NUMBER
    assert head.hash.hex().startswith("d226371d")
    assert head == chain.head
    with chain.snapshot() as snapshot:
        assert snapshot.safe == snapshot.finalized == HEAD_NUMBER
        assert snapshot.hash_of(HEAD_NUMBER) == head.hash


async def test_a_gzipped_file_and_many_files_do_as_well(
    chain: Chain, tmp_path: Path, blocks: list[bytes]
) -> None:
    (tmp_path / "a").write_bytes(b"".join(blocks[:20]))
    (tmp_path / "b").write_bytes(gzip.compress(b"".join(blocks[20:])))
    recorder = Recorder()
    head = await import_files(chain, [str(tmp_path / "a"), str(tmp_path / "b")], recorder)
    assert head.number == HEAD_NUMBER
    assert recorder.steps[-1].blocks == HEAD_NUMBER
    assert recorder.steps[-1].bytes_read == recorder.steps[-1].bytes_total


async def test_importing_again_changes_nothing(chain: Chain, tmp_path: Path, blocks: list[bytes]) -> None:
    await take(chain, tmp_path, b"".join(blocks))
    before = tables(chain)
    assert (await take(chain, tmp_path, b"".join(blocks))).number == HEAD_NUMBER
    assert tables(chain) == before


async def test_an_import_continues_where_the_last_one_ended(
    chain: Chain, tmp_path: Path, blocks: list[bytes]
) -> None:
    assert (await take(chain, tmp_path, b"".join(blocks[:30]))).number == 30
    assert (await take(chain, tmp_path, b"".join(blocks))).number == HEAD_NUMBER


async def test_what_is_before_a_cut_is_kept(chain: Chain, tmp_path: Path, blocks: list[bytes]) -> None:
    with pytest.raises(SourceError, match="ends inside a block"):
        await take(chain, tmp_path, b"".join(blocks[:40]) + blocks[40][:-1])
    assert chain.head.number == 40


async def test_blocks_out_of_order_name_the_first_one(
    chain: Chain, tmp_path: Path, blocks: list[bytes]
) -> None:
    with pytest.raises(UnknownParentError, match="block 12 "):
        await take(chain, tmp_path, b"".join([*blocks[:10], blocks[11], blocks[10]]))
    assert chain.head.number == 10


async def test_a_block_changed_in_one_byte_is_refused(
    chain: Chain, tmp_path: Path, blocks: list[bytes]
) -> None:
    changed = bytearray(blocks[20])
    changed[100] ^= 1
    with pytest.raises(InvalidBlockError, match="block 21 "):
        await take(chain, tmp_path, b"".join(blocks[:20]) + changed + b"".join(blocks[21:]))
    assert chain.head.number == 20


async def test_rubbish_inside_a_block_is_refused_with_its_place(
    chain: Chain, tmp_path: Path, blocks: list[bytes]
) -> None:
    with pytest.raises(InvalidBlockError) as caught:
        await take(chain, tmp_path, b"".join(blocks[:3]) + b"\xc3abc")
    assert caught.value.__notes__ == [f"{tmp_path / 'import.rlp'}: byte {len(b''.join(blocks[:3]))}"]
    assert chain.head.number == 3


async def test_many_small_commits_store_the_same(
    chain: Chain, tmp_path: Path, blocks: list[bytes], genesis: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    await take(chain, tmp_path, b"".join(blocks))
    monkeypatch.setattr(importer, "COMMIT_BLOCKS", 1)
    monkeypatch.setattr("wsnode.sync.rlp_files.BATCH_BLOCKS", 3)
    with Chain.open(tmp_path / "other", genesis, writer=True, durable=False) as other:
        await take(other, tmp_path, b"".join(blocks))
        assert tables(other) == tables(chain)


async def test_a_cancelled_import_keeps_what_was_verified(
    chain: Chain, tmp_path: Path, blocks: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wsnode.sync.rlp_files.BATCH_BLOCKS", 5)

    class Stop:
        def advanced(self, step: ProgressStep) -> None:
            if step.number >= 20:
                scope.cancel()

    file = tmp_path / "chain.rlp"
    file.write_bytes(b"".join(blocks))
    with trio.CancelScope() as scope:
        await import_files(chain, [str(file)], Stop())
    assert 20 <= chain.head.number < HEAD_NUMBER
    assert chain.state.committed_head == (chain.head.number, chain.head.hash)


def test_a_second_importer_is_refused(chain: Chain, tmp_path: Path, genesis: bytes) -> None:
    with pytest.raises(ChainBusyError, match="is being written by process"):
        Chain.open(tmp_path / "eth", genesis, writer=True)


def test_another_genesis_is_refused(tmp_path: Path, genesis: bytes) -> None:
    Chain.open(tmp_path, genesis, writer=True).close()
    with pytest.raises(
        OtherGenesisError, match=r"holds the chain of genesis 0x.* `wsnode import eth` made, not of 0x"
    ):
        Chain.open(tmp_path, genesis.replace(b'"timestamp": "0x', b'"timestamp": "0x1'), writer=True)


READER = """
import sys
from pathlib import Path
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.rows import header_fields, transaction_hashes
chain = Chain.open(Path(sys.argv[1]), writer=False)
print("open", flush=True)
last = 0
while last < 54:
    with chain.snapshot() as snapshot:
        assert snapshot.number >= last
        last = snapshot.number
        header = header_fields(snapshot.header(last))
        assert header.hash == snapshot.head.hash
        assert snapshot.number_of(header.hash) == last
        assert snapshot.state.committed_head[0] >= last
        assert snapshot.header(last + 1) is None
        hashes = transaction_hashes(snapshot.body(last))
        assert all(
            snapshot.transaction(hashes[at : at + 32]) == (last, at // 32) for at in range(0, len(hashes), 32)
        )
"""


async def test_a_reader_in_another_process_always_sees_whole_blocks(
    chain: Chain, tmp_path: Path, blocks: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importer, "COMMIT_BLOCKS", 1)
    monkeypatch.setattr("wsnode.sync.rlp_files.BATCH_BLOCKS", 1)
    reader = await trio.lowlevel.open_process(
        [sys.executable, "-c", READER, str(tmp_path / "eth")], stdout=subprocess.PIPE
    )
    assert reader.stdout is not None
    assert await reader.stdout.receive_some()
    await take(chain, tmp_path, b"".join(blocks))
    assert await reader.wait() == 0
    await reader.stdout.aclose()
