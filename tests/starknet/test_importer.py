"""Dumps that are whole, late, broken, partial or of other forms."""

import gzip
import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.starknet.conftest import caller_of
from tests.starknet.models import rpc_diff, state_updates
from tests.store.damaged_bytes import flipped
from tests.vector_files import CHECKOUT, require_vectors
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import BlockDumpError, InvalidStarknetBlockError, StarknetError
from wsnode.starknet.felt import felt_text
from wsnode.starknet.importer import head_of
from wsnode.starknet.roots import StateRoots
from wsnode.starknet.storage.tables import META, SCHEMA_KEY
from wsnode.store.environment import Environment
from wsnode.sync.starknet_folder import import_folder

NINE = "0x31e5a5851e1a492827ba33180acb98263d1ace0f46fd4000bd4216d2119d480"


def head(chain: StarknetChain) -> tuple[int, str] | None:
    with chain.snapshot() as snapshot:
        found = head_of(snapshot)
    return None if found is None else (found[0], felt_text(found[1]))


def edit(path: Path, change: Callable[[Any], Any]) -> None:
    document = json.loads(path.read_text())
    changed = change(document)
    path.write_text(json.dumps(document if changed is None else changed))


async def test_all_roots_are_recomputed_from_genesis(
    fresh: StarknetChain, mainnet: Path, classes: Path
) -> None:
    numbers: list[int] = []
    reports: list[str] = []
    outcome = await import_folder(
        fresh, mainnet, classes, progress=lambda number, *_: numbers.append(number), report=reports.append
    )
    assert outcome.roots_verified
    assert outcome.missing_classes == 0
    assert numbers == list(range(10))
    assert head(fresh) == (9, NINE)
    assert [report.partition("classes/")[2] for report in reports] == [
        "undeclared_error.json: passed over: no class but an error: StarknetErrorCode.UNDECLARED_CLASS: "
        "Class with hash 0x111111111111111111111111 is not declared."
    ]


async def test_importing_again_continues_where_it_stopped(
    fresh: StarknetChain, dump: Path, mainnet: Path
) -> None:
    late = dump / "state_update" / "7.json"
    text = late.read_text()
    late.unlink()
    with pytest.raises(BlockDumpError, match="block 7 is missing; the dump goes on with 8"):
        await import_folder(fresh, dump)
    assert head(fresh) == (6, state_updates(mainnet)[6]["block_hash"])
    late.write_text(text)
    outcome = await import_folder(fresh, dump)
    assert outcome.blocks == 3
    assert outcome.roots_verified
    assert (await import_folder(fresh, dump)).blocks == 0
    assert head(fresh) == (9, NINE)


def set_parent(headers: list[Any]) -> None:
    headers[5]["parent_hash"] = "0x5"


def set_root(headers: list[Any]) -> None:
    headers[5]["new_root"] = "0x5"


def drop_roots(headers: list[Any]) -> None:
    for header in headers:
        del header["new_root"]


BROKEN = {
    "parent_hash": ("headers.json", set_parent),
    "new_root": ("headers.json", set_root),
    "old_root": ("state_update/5.json", lambda update: update.update(old_root="0x5")),
    "state_root": (
        "state_update/5.json",
        lambda update: update["state_diff"]["nonces"].update({"0x1": "0x1"}),
    ),
    "deployed_contracts": (
        "state_update/5.json",
        lambda update: update["state_diff"]["deployed_contracts"].append(
            {
                "address": "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6",
                "class_hash": "0x1",
            }
        ),
    ),
    "state_diff": (
        "state_update/5.json",
        lambda update: update["state_diff"]["storage_diffs"].update({"0x1": [{"key": "0x1", "value": "?"}]}),
    ),
}


@pytest.mark.parametrize("rule", BROKEN)
async def test_a_broken_block_ends_the_import_and_the_blocks_before_it_stay(
    fresh: StarknetChain, dump: Path, rule: str
) -> None:
    name, change = BROKEN[rule]
    edit(dump / name, change)
    with pytest.raises(InvalidStarknetBlockError) as caught:
        await import_folder(fresh, dump)
    assert (caught.value.number, caught.value.rule) == (5, rule)
    assert str(caught.value).startswith(
        f"block 5 (0xdcbd2a4b597d051073f40a0329e585bb94b26d73df69f8d72798924fd097d3): {rule}: "
    )
    assert "\n" not in str(caught.value)
    assert "expected" in str(caught.value)
    assert head(fresh) is not None
    assert head(fresh)[0] == 4  # type: ignore[index]


async def test_a_root_that_only_the_state_disproves_is_found(fresh: StarknetChain, dump: Path) -> None:
    edit(dump / "headers.json", drop_roots)
    (dump / "block_0_with_state_update.json").unlink()
    edit(dump / "state_update/9.json", lambda update: update.update(new_root="0x123"))
    with pytest.raises(
        InvalidStarknetBlockError, match=r"block 9 .*state_root: expected 0x123, got 0x27e6e1b3"
    ):
        await import_folder(fresh, dump)


async def test_roots_are_taken_on_trust_when_that_is_asked_for(fresh: StarknetChain, dump: Path) -> None:
    edit(dump / "headers.json", drop_roots)
    edit(dump / "state_update/9.json", lambda update: update.update(new_root="0x123"))
    outcome = await import_folder(fresh, dump, verify_roots=False)
    assert outcome.head is not None
    assert not outcome.roots_verified


async def test_another_chain_is_refused_at_the_first_block_that_differs(
    fresh: StarknetChain, dump: Path
) -> None:
    await import_folder(fresh, dump)
    edit(dump / "state_update/3.json", lambda update: update.update(block_hash="0x33"))
    with pytest.raises(
        InvalidStarknetBlockError, match=r"block 3 \(0x33\): block_hash: expected 0x\w+, as stored, got 0x33"
    ):
        await import_folder(fresh, dump)
    assert head(fresh) == (9, NINE)


async def test_a_class_that_the_dump_lacks_is_reported_and_can_come_later(
    fresh: StarknetChain, mainnet: Path, classes: Path
) -> None:
    reports: list[str] = []
    outcome = await import_folder(fresh, mainnet, report=reports.append)
    class_hash = "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8"
    assert outcome.missing_classes == 1
    assert reports == [f"block 0 names class {class_hash}, which the dump lacks"]
    ask = {
        "block_id": "latest",
        "contract_address": "0x20cfa74ee3564b4cd5435cdace0f9c4d43b939620e4a0bb5076105df0a626c6",
    }
    answered = caller_of(fresh)("alt_getClassAt", ask)
    assert (answered["code"], answered["data"]) == (-32603, {"class_hash": class_hash})
    assert caller_of(fresh)("alt_getClassHashAt", ask) == class_hash
    assert (await import_folder(fresh, mainnet, classes)).missing_classes == 0
    assert "program" in caller_of(fresh)("alt_getClassAt", ask)


async def test_a_class_may_come_with_the_block_that_names_it(
    fresh: StarknetChain, mainnet: Path, classes: Path, tmp_path: Path
) -> None:
    class_hash = "0x10455c752b86932ce552f2b0fe81a880746649b9aee7e0d842bf3f52378f9f8"
    definition = json.loads(gzip.decompress((classes / f"{class_hash}.json.gz").read_bytes()))
    update = state_updates(mainnet)[0]
    document = {"state_update": update, "classes": {class_hash: definition, "0x5": {}, "no hash": {}}}
    (tmp_path / "0.jsonl").write_text(json.dumps(document))
    assert (await import_folder(fresh, tmp_path / "0.jsonl")).missing_classes == 0


@pytest.mark.slow
@pytest.mark.parametrize("form", ["feeder", "node", "with block"])
@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz", ".ndjson", ".json", ".json.gz"])
async def test_one_file_in_any_form_is_as_good_as_a_folder(
    fresh: StarknetChain, mainnet: Path, tmp_path: Path, form: str, ending: str
) -> None:
    documents = [document_of(update, number, form) for number, update in enumerate(state_updates(mainnet))]
    if ".json" in ending and "jsonl" not in ending:
        text = json.dumps(documents).encode()
    else:
        text = b"\n".join(json.dumps(document).encode() for document in documents) + b"\n\n"
    path = tmp_path / f"blocks{ending}"
    path.write_bytes(gzip.compress(text) if ending.endswith(".gz") else text)
    outcome = await import_folder(fresh, path)
    assert outcome.roots_verified
    assert head(fresh) == (9, NINE)


def document_of(update: dict[str, Any], number: int, form: str) -> dict[str, Any]:
    if form == "feeder":
        return update
    if form == "node":
        return {
            "jsonrpc": "2.0",
            "id": number,
            "result": update | {"state_diff": rpc_diff(update["state_diff"])},
        }
    header = {"block_hash": update["block_hash"], "block_number": number, "state_root": update["new_root"]}
    return {"block": header, "state_update": update}


@pytest.mark.slow
async def test_a_history_that_begins_late_says_so_instead_of_lying(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    dump = tmp_path / "late"
    dump.mkdir()
    shutil.copy(require_vectors("starknet/single/mainnet_550000.json.gz"), dump)
    with pytest.raises(
        BlockDumpError, match=r"begins at block 550000 and the chain is empty.*--first-block 550000"
    ):
        await import_folder(fresh, dump)
    rpc = require_vectors("starknet/rpc")
    outcome = await import_folder(fresh, dump, rpc, first_block=550000)
    assert outcome.head is not None
    assert not outcome.roots_verified
    call = caller_of(fresh)
    replaced = "0x26f1cc856bc01f0150a393d5e0488da44dc5510b7e31f0faa03fbeccf1f1405"
    unavailable = {
        "code": -32000,
        "message": "history is not available below block 550000",
        "data": {"first_block": 550000},
    }
    at = {"block_id": {"block_number": 550000}, "contract_address": replaced}
    expected = json.loads(gzip.decompress((rpc / "class_0x29927c8a.json.gz").read_bytes()))["result"]
    assert call("alt_getClassAt", at) == expected
    assert call("alt_getClassAt", at | {"block_id": {"block_number": 549999}}) == unavailable
    assert call("alt_getClassAt", at | {"contract_address": "0x5"}) == unavailable
    assert call("alt_getClassAt", at | {"block_id": {"block_number": 550001}})["code"] == 24
    assert call("alt_getClassAt", at | {"block_id": {"block_hash": "0x5"}})["code"] == 24
    assert call("alt_getStorageAt", at | {"key": "0x123"}) == unavailable
    deployed = "0x1d8805ae5c603b8e190e8af0d7b4617c51900f30b06bedfbf837def01c8f5e4"
    assert call("alt_getStorageAt", at | {"contract_address": deployed, "key": "0x123"}) == "0x0"
    assert call("alt_getClass", {"block_id": "latest", "class_hash": "0x5"}) == unavailable
    with pytest.raises(BlockDumpError, match="the stored history begins at block 550000, not 7"):
        await import_folder(fresh, dump, first_block=7)


@pytest.mark.slow
async def test_classes_replaced_in_one_block_are_the_new_ones(fresh: StarknetChain) -> None:
    single, rpc = require_vectors("starknet/single/mainnet_550000.json.gz"), require_vectors("starknet/rpc")
    assert (await import_folder(fresh, single, rpc, first_block=550000)).missing_classes == 0
    update = json.loads(gzip.decompress(single.read_bytes()))
    call = caller_of(fresh)
    contracts = update["state_diff"]["replaced_classes"] + update["state_diff"]["deployed_contracts"]
    assert len(contracts) == 22
    for contract in contracts:
        ask = {"block_id": "latest", "contract_address": contract["address"]}
        assert call("alt_getClassHashAt", ask) == contract["class_hash"]


async def test_two_blocks_follow_each_other_by_their_roots_and_commitments(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    dump = tmp_path / "pair"
    dump.mkdir()
    for name in ("35748", "35748_block", "35749"):
        shutil.copy(require_vectors(f"starknet/single/sepolia_integration_{name}.json"), dump)
    outcome = await import_folder(fresh, dump, first_block=35748)
    assert outcome.head is not None
    assert outcome.head[0] == 35749
    edit(
        dump / "sepolia_integration_35748_block.json", lambda block: block.update(state_diff_commitment="0x1")
    )
    with (
        StarknetChain.open(tmp_path / "other", writer=True) as other,
        pytest.raises(
            InvalidStarknetBlockError,
            match=r"block 35748 .*state_diff_commitment: expected 0x1, got 0x23587c54",
        ),
    ):
        await import_folder(other, dump, first_block=35748)


async def test_pending_updates_and_odd_documents_are_reported_and_passed_over(
    fresh: StarknetChain, dump: Path
) -> None:
    (dump / "notes.json").write_text('{"hello": 1}')
    (dump / "torn.json").write_text('{"hello": ')
    (dump / "pending.json").write_text('{"old_root": "0x1", "state_diff": {"storage_diffs": []}}')
    reports: list[str] = []
    await import_folder(fresh, dump, report=reports.append)
    assert head(fresh) == (9, NINE)
    assert [report.split(": ", 1)[0].rpartition("/")[2] for report in reports[:3]] == [
        "notes.json",
        "pending.json",
        "torn.json",
    ]


@pytest.mark.parametrize("content", [None, b"", b"\x1f\x8bgarbage"])
async def test_a_dump_that_cannot_be_read_is_named(
    fresh: StarknetChain, tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "dump"
    if content is not None:
        path.mkdir()
        (path / "0.json.gz").write_bytes(content or b"\x1f\x8b")
    with pytest.raises(BlockDumpError, match=str(path)):
        await import_folder(fresh, path)


async def test_undoing_blocks_leaves_the_chain_as_it_was_before_them(
    fresh: StarknetChain, mainnet: Path
) -> None:
    await import_folder(fresh, mainnet)
    call = caller_of(fresh)
    rows = state_updates(mainnet)[9]["state_diff"]["storage_diffs"]
    slots = [(address, entry["key"]) for address, entries in rows.items() for entry in entries]
    before = [call("starknet_getStorageAt", [*slot, {"block_number": 3}]) for slot in slots]
    fresh.append((), (), after=3)
    assert head(fresh) == (3, state_updates(mainnet)[3]["block_hash"])
    assert [call("starknet_getStorageAt", [*slot, "latest"]) for slot in slots] == before
    assert call("alt_getStateUpdate", {"block_id": {"block_hash": NINE}})["code"] == 24
    with fresh.reader() as reader:
        assert felt_text(StateRoots.of_head(reader).root()) == state_updates(mainnet)[3]["new_root"]
    outcome = await import_folder(fresh, mainnet)
    assert (outcome.blocks, head(fresh)) == (6, (9, NINE))


def test_a_second_writer_is_turned_away(tmp_path: Path) -> None:
    with (
        StarknetChain.open(tmp_path, writer=True),
        pytest.raises(StarknetError, match="another process writes"),
    ):
        StarknetChain.open(tmp_path, writer=True)
    StarknetChain.open(tmp_path, writer=True).close()


def test_a_folder_without_a_chain_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StarknetError, match="no Starknet chain here; `wsnode import alt` makes one"):
        StarknetChain.open(tmp_path, writer=False)


KILLED = """
import os, sys, trio
from pathlib import Path
import wsnode.starknet.importer as intake
from wsnode.starknet.chain import StarknetChain
from wsnode.sync.starknet_folder import import_folder
intake.BATCH_BLOCKS = 2
chain = StarknetChain.open(Path(sys.argv[1]), writer=True)
stop = lambda number, *_: os._exit(9) if number == 6 else None
trio.run(lambda: import_folder(chain, Path(sys.argv[2]), progress=stop))
"""


@pytest.mark.slow
async def test_a_killed_import_leaves_whole_blocks_and_goes_on(mainnet: Path, tmp_path: Path) -> None:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(CHECKOUT), *sys.path]))
    command = [sys.executable, "-c", KILLED, str(tmp_path), str(mainnet)]
    killed = await trio.run_process(command, env=environment, check=False)
    assert killed.returncode == 9
    with StarknetChain.open(tmp_path, writer=True) as chain:
        assert head(chain) == (5, state_updates(mainnet)[5]["block_hash"])
        outcome = await import_folder(chain, mainnet)
        assert outcome.roots_verified
        assert head(chain) == (9, NINE)


@pytest.mark.parametrize("writer", [False, True])
def test_a_chain_without_checksums_is_refused(tmp_path: Path, writer: bool) -> None:
    StarknetChain.open(tmp_path, writer=True).close()
    with (
        flipped(tmp_path / "alt/chain/data.mdb", b"schema5", 7),
        pytest.raises(
            StarknetError, match="its layout is older, or damaged, this version knows 5: import again"
        ),
    ):
        StarknetChain.open(tmp_path, writer=writer)


@pytest.mark.parametrize("writer", [False, True])
def test_a_chain_of_another_layout_is_refused(tmp_path: Path, writer: bool) -> None:
    environment = Environment(tmp_path / "alt" / "chain", [META], writer=True)
    environment.write(lambda transaction: transaction.put(META, SCHEMA_KEY, b"1"))
    environment.close()
    with pytest.raises(StarknetError, match="its layout is 1, this version knows 5: import again"):
        StarknetChain.open(tmp_path, writer=writer)
