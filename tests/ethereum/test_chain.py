import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.store.damaged_bytes import flipped
from tests.vector_files import require_vectors
from wsnode.ethereum.appender import Appender
from wsnode.ethereum.chain import Chain
from wsnode.ethereum.codec.blocks import decode_blocks
from wsnode.ethereum.codec.rows import transaction_hashes
from wsnode.ethereum.primitives.values import Hash32
from wsnode.ethereum.storage import meta
from wsnode.ethereum.storage.errors import (
    NoChainError,
    OtherConfigurationError,
    PassedForkError,
    StoreError,
    UnknownSchemaError,
)
from wsnode.ethereum.storage.tables import (
    BODIES,
    HEADERS,
    META,
    RECEIPTS,
    SCHEMA_VERSION,
    SIDE_BLOCKS,
    TABLES,
    TRANSACTIONS,
    number_key,
)
from wsnode.store.environment import DamagedRowError, Environment
from wsnode.store.table import Table, scan
from wsnode.sync.rlp_files import RlpFiles

Rows = dict[str, list[tuple[bytes, bytes]]]


@pytest.fixture(scope="module")
def genesis() -> bytes:
    return (require_vectors("execution-apis") / "genesis.json").read_bytes()


@pytest.fixture
def chain(tmp_path: Path, genesis: bytes) -> Iterator[Chain]:
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        import_blocks_after(chain, 0)
        yield chain


def canonical_rows(chain: Chain) -> Rows:
    # Code stays, and a list of changes is that of a commit.
    others = ("code", "changes")
    kept = [table for table in TABLES if table not in (META, SIDE_BLOCKS) and table.name not in others]
    with chain.snapshot() as snapshot:
        return {table.name: list(scan(snapshot.reader, table, b"\0")) for table in kept}


def test_unwinding_and_executing_again_gives_the_same_rows(chain: Chain) -> None:
    before, head = canonical_rows(chain), chain.head
    removed = chain.unwind(20)
    assert [block.number for block in removed] == list(range(54, 20, -1))
    assert chain.head.number == 20
    with chain.snapshot() as snapshot:
        assert snapshot.finalized == snapshot.safe == 20
        assert snapshot.side_receipts(head.hash) is not None
        assert snapshot.number_of(head.hash) is None
    import_blocks_after(chain, 20)
    assert chain.head == head
    assert canonical_rows(chain) == before
    with chain.snapshot() as snapshot:
        assert snapshot.reader.entries(SIDE_BLOCKS) == 0


def import_blocks_after(chain: Chain, number: int) -> None:
    with RlpFiles([str(require_vectors("execution-apis") / "chain.rlp")]) as source:
        encoded = [block.encoded for block in source.next_batch()]
    blocks, error = decode_blocks(chain.spec, encoded[number:])
    assert error is None
    appender = Appender(chain)
    assert appender.extend(blocks).error is None
    appender.store(appender.take_pending())
    chain.mark_final(appender.head)


def test_unwinding_to_the_genesis_leaves_a_new_chain(chain: Chain, tmp_path: Path, genesis: bytes) -> None:
    chain.unwind(0)
    with Chain.open(tmp_path / "new", genesis, writer=True, durable=False) as new:
        assert canonical_rows(chain) == canonical_rows(new)


def test_each_moment_has_its_own_head_whatever_was_asked_between(chain: Chain) -> None:
    first = chain.head
    with chain.snapshot() as before:
        chain.unwind(first.number - 1)
        with chain.snapshot() as behind:
            assert behind.number == first.number - 1
            import_blocks_after(chain, behind.number)
            assert (before.number, before.head.hash) == (first.number, first.hash)
            with before.reader as reader:
                assert chain.head_in(reader) == first
            assert chain.head_in(behind.reader).hash == behind.head.hash != first.hash
    assert chain.head == first


def test_every_transaction_is_found_by_its_hash(chain: Chain) -> None:
    with chain.snapshot() as snapshot:
        for number in range(1, snapshot.number + 1):
            hashes = transaction_hashes(snapshot.body(number) or b"")
            for index in range(len(hashes) // 32):
                assert snapshot.transaction(hashes[32 * index : 32 * index + 32]) == (number, index)
        assert snapshot.transaction(bytes(32)) is None


def test_transactions_that_share_their_first_bytes_are_told_apart(
    chain: Chain, tmp_path: Path, genesis: bytes
) -> None:
    with chain.snapshot() as snapshot:
        wanted = (
            transaction_hashes(snapshot.body(1) or b"")[:32]
            or transaction_hashes(snapshot.body(2) or b"")[:32]
        )
        place = snapshot.transaction(wanted)
    key, others = wanted[:8], b"".join((number << 24).to_bytes(8, "big") for number in (40, 41))
    with Chain.open(tmp_path / "other", genesis, writer=True, durable=False) as other:
        other.store.write(lambda writer: writer.put(TRANSACTIONS, key, others))
        import_blocks_after(other, 0)
        with other.snapshot() as snapshot:
            assert len(snapshot.reader.get(TRANSACTIONS, key) or b"") == 3 * 8
            assert snapshot.transaction(wanted) == place
            assert snapshot.transaction(key + bytes(24)) is None
        other.unwind(0)
        with other.snapshot() as snapshot:
            assert list(scan(snapshot.reader, TRANSACTIONS, b"\0")) == [(key, others)]


def test_total_difficulty_adds_up(chain: Chain) -> None:
    with chain.snapshot() as snapshot:
        assert snapshot.total_difficulty(0) == 0x20000
        assert snapshot.total_difficulty(54) == snapshot.total_difficulty(40) >= 4_732_352


def test_rows_and_states_of_a_chain_that_was_unwound_go_on_together(tmp_path: Path, genesis: bytes) -> None:
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        import_blocks_after(chain, 0)
        chain.unwind(30)
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        assert chain.head.number == 30
        assert chain.state.committed_head == (30, chain.head.hash)
        import_blocks_after(chain, 30)
        assert chain.head.number == 54
        assert chain.state.committed_head == (54, chain.head.hash)


def test_a_reader_of_an_empty_folder_is_told_to_import(tmp_path: Path) -> None:
    with pytest.raises(NoChainError, match="import one first"):
        Chain.open(tmp_path, writer=False)


def test_another_schema_is_refused(tmp_path: Path, genesis: bytes) -> None:
    Chain.open(tmp_path, genesis, writer=True).close()
    store = Environment(tmp_path / "chain", TABLES, writer=True)
    store.write(lambda writer: meta.begin(writer, 99, b""))  # type: ignore[arg-type]
    store.close()
    with pytest.raises(UnknownSchemaError, match="schema 99, this program knows 9: import again"):
        Chain.open(tmp_path, genesis, writer=True)


@pytest.mark.parametrize("writer", [True, False])
@pytest.mark.parametrize("other_genesis", [True, False])
def test_a_folder_without_checksums_is_refused(
    tmp_path: Path, genesis: bytes, *, writer: bool, other_genesis: bool
) -> None:
    """Older versions wrote rows without checksums, so the row of the schema is the first that has none."""
    Chain.open(tmp_path, genesis, writer=True).close()
    if other_genesis:
        later = json.loads(genesis)
        later["config"]["amsterdamTime"] = 2**40
        genesis = json.dumps(later).encode()
    row = b"schema" + SCHEMA_VERSION.to_bytes(4, "big")
    with (
        flipped(tmp_path / "chain/data.mdb", row, len(row)),
        pytest.raises(
            UnknownSchemaError,
            match="an older storage schema, or a damaged one, this program knows 9: import again",
        ),
    ):
        Chain.open(tmp_path, genesis, writer=writer)


@pytest.mark.parametrize("writer", [True, False])
@pytest.mark.parametrize("version", [4, 5, 6])
def test_a_folder_with_its_state_in_another_store_is_refused(
    tmp_path: Path, genesis: bytes, *, writer: bool, version: int
) -> None:
    """Stores of these versions have none of the state's tables; nothing is written to them."""
    (tmp_path / "genesis.json").write_bytes(genesis)
    with closing(Environment(tmp_path / "chain", [META], writer=True)) as store:
        store.write(lambda writer: meta.begin(writer, version, Hash32(bytes(32))))
    before = (tmp_path / "chain/data.mdb").read_bytes()
    with pytest.raises(UnknownSchemaError, match=f"schema {version}, this program knows 9: import again"):
        Chain.open(tmp_path, genesis, writer=writer)
    assert (tmp_path / "chain/data.mdb").read_bytes() == before


@pytest.mark.parametrize("table", [HEADERS, BODIES, RECEIPTS], ids=lambda table: table.name)
def test_a_row_that_a_block_must_have_is_missed(chain: Chain, table: Table) -> None:
    chain.store.write(lambda writer: writer.delete(table, number_key(20)))
    with chain.snapshot() as snapshot:
        read = {HEADERS: snapshot.header, BODIES: snapshot.body, RECEIPTS: snapshot.receipts}[table]
        assert read(19) is not None
        assert read(55) is None
        with pytest.raises(DamagedRowError) as raised:
            read(20)
    assert (raised.value.table, raised.value.key) == (table.name, number_key(20))
    assert chain.damaged == 1


def with_config(genesis: bytes, **members: object) -> bytes:
    other = json.loads(genesis)
    other["config"] = {
        name: value for name, value in (other["config"] | members).items() if value is not None
    }
    return json.dumps(other).encode()


def test_forks_above_the_head_are_taken_over_from_a_newer_genesis(tmp_path: Path, genesis: bytes) -> None:
    # The head has the time 540.
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        import_blocks_after(chain, 0)
    newer = with_config(genesis, amsterdamTime=10_000)
    with Chain.open(tmp_path, newer, writer=True, durable=False) as chain:
        assert chain.spec.fork_name(100, 10_000) == "Amsterdam"
        assert chain.folder.read_genesis() == newer
    with Chain.open(tmp_path, writer=False) as chain:
        assert chain.spec.fork_name(100, 10_000) == "Amsterdam"
    # And back, as the fork has not begun.
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        assert chain.spec.fork_name(100, 10_000) == "BPO2"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"osakaTime": 481}, "has osakaTime 480, the genesis file 481, and the head, block 54, is at 540"),
        ({"bpo2Time": None}, "has bpo2Time 540, the genesis file never, and the head, block 54, is at 540"),
        ({"amsterdamTime": 540}, "has amsterdamTime never, the genesis file 540"),
        ({"grayGlacierBlock": 34}, "has grayGlacierBlock 33, the genesis file 34"),
    ],
    ids=str,
)
def test_a_fork_that_the_chain_has_passed_cannot_change(
    tmp_path: Path, genesis: bytes, changes: dict[str, object], words: str
) -> None:
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        import_blocks_after(chain, 0)
    with pytest.raises(PassedForkError, match=words):
        Chain.open(tmp_path, with_config(genesis, **changes), writer=True)
    with Chain.open(tmp_path, writer=True, durable=False) as chain:
        assert chain.folder.read_genesis() == genesis


def test_other_parameters_on_the_same_genesis_are_refused(tmp_path: Path, genesis: bytes) -> None:
    Chain.open(tmp_path, genesis, writer=True).close()
    with pytest.raises(OtherConfigurationError, match="config"):
        Chain.open(tmp_path, with_config(genesis, chainId=99), writer=True)


@pytest.mark.parametrize("writer", [False, True], ids=["to read", "to write"])
def test_a_store_that_was_cut_short_is_not_opened(tmp_path: Path, genesis: bytes, *, writer: bool) -> None:
    with Chain.open(tmp_path, genesis, writer=True, durable=False) as chain:
        import_blocks_after(chain, 0)
    file = tmp_path / "chain/data.mdb"
    whole = file.read_bytes()
    # An empty file is a new one to a writer.
    for kept in (len(whole) - 1, len(whole) // 2, 8192, *(() if writer else (0,))):
        os.truncate(file, kept)
        with pytest.raises(StoreError) as refused:
            Chain.open(tmp_path, writer=writer)
        used = len(whole) if kept else 8192
        told = f"{file}: the file is cut short: it has {kept} bytes and uses {used}; put a whole copy"
        assert str(refused.value).startswith(told)
        file.write_bytes(whole)
    with Chain.open(tmp_path, writer=writer) as chain:
        assert chain.head.number == 54


def test_a_process_beside_the_writer_reads_the_same(chain: Chain, tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from wsnode.ethereum.chain import Chain\n"
        "chain = Chain.open(pathlib.Path(sys.argv[1]), writer=False)\n"
        "print(chain.head, chain.state.committed_head[0])\n"
    )
    printed = subprocess.check_output([sys.executable, "-c", script, str(tmp_path)], text=True)
    assert printed.split() == [*str(chain.head).split(), "54"]


def test_what_another_process_writes_is_seen_at_once(chain: Chain, tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from wsnode.ethereum.chain import Chain\n"
        "chain = Chain.open(pathlib.Path(sys.argv[1]), writer=False)\n"
        "for _ in sys.stdin:\n"
        "    print(chain.head, flush=True)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        for number in (54, 54, 30, 29):
            if number < chain.head.number:
                chain.unwind(number)
            reader.stdin.write("\n")
            reader.stdin.flush()
            assert reader.stdout.readline().strip() == str(chain.head)
            assert chain.head.number == number
        reader.stdin.close()
