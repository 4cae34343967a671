"""Dumps with transactions and receipts: blocks are stored if their hashes prove them."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.starknet.block_changes import Json
from tests.vector_files import CHECKOUT, require_vectors
from wsnode.starknet.chain import StarknetChain
from wsnode.starknet.errors import InvalidStarknetBlockError
from wsnode.starknet.felt import felt_bytes
from wsnode.starknet.header_json import render_header
from wsnode.sync.starknet_folder import ImportOutcome, import_folder

SEED = CHECKOUT / "fuzz/corpus/starknet/seed-poseidon"
GENESIS = "starknet/mainnet/block_0_with_state_update.json"


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A block of each kind of transaction, in a node's form, in a folder."""
    block, update = SEED.read_bytes().split(b"\0")
    folder = tmp_path / "made"
    folder.mkdir()
    (folder / "block.json").write_bytes(block)
    (folder / "update.json").write_bytes(update)
    return folder


async def bring(chain: StarknetChain, folder: Path, number: int, name: str | None) -> list[str]:
    reports: list[str] = []
    outcome: ImportOutcome = await import_folder(
        chain, folder, first_block=number, chain_id=name, report=reports.append
    )
    assert outcome.head is not None
    assert outcome.head[0] == number
    return [report for report in reports if "names class" not in report]


def edit(path: Path, change: Callable[[Json], Any]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def header(chain: StarknetChain, number: int) -> Json:
    with chain.snapshot() as snapshot:
        row = snapshot.block(number)
        assert row is not None
        rendered: Json = json.loads(render_header(snapshot, number, row))
    return rendered


async def test_a_block_that_its_hash_proves_is_stored(fresh: StarknetChain, made: Path) -> None:
    assert await bring(fresh, made, 9, "SN_TEST") == []


async def test_commitments_that_a_source_leaves_out_are_added(fresh: StarknetChain, made: Path) -> None:
    await bring(fresh, made, 9, "SN_TEST")
    stored = header(fresh, 9)
    assert (stored["transaction_count"], stored["event_count"], stored["state_diff_length"]) == (4, 1, 5)
    block = json.loads(SEED.read_bytes().split(b"\0")[0])
    assert "event_commitment" not in block
    proved = {name for name in stored if name.endswith("_commitment")}
    assert proved == {
        "transaction_commitment",
        "event_commitment",
        "receipt_commitment",
        "state_diff_commitment",
    }


def change_calldata(block: Json) -> None:
    block["transactions"][0]["transaction"]["calldata"] = ["0x2"]


def change_event(block: Json) -> None:
    block["transactions"][0]["receipt"]["events"][0]["data"] = ["0x2"]


def change_receipt(block: Json) -> None:
    block["transactions"][1]["receipt"]["revert_reason"] = "out of gas"


def change_message(block: Json) -> None:
    block["transactions"][3]["receipt"]["message_hash"] = f"0x{1:064x}"


def remove_nonce(block: Json) -> None:
    del block["transactions"][0]["transaction"]["nonce"]


def change_time(block: Json) -> None:
    block["timestamp"] += 1


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (change_calldata, "transactions[0].receipt.transaction_hash"),
        (change_event, "block_hash"),
        (change_receipt, "block_hash"),
        (change_message, "transactions[3].receipt.message_hash"),
        (remove_nonce, "transactions[0].transaction.nonce"),
        (change_time, "block_hash"),
    ],
)
async def test_a_block_that_its_hash_does_not_prove_is_refused(
    fresh: StarknetChain, made: Path, change: Callable[[Json], Any], rule: str
) -> None:
    edit(made / "block.json", change)
    with pytest.raises(InvalidStarknetBlockError) as refused:
        await bring(fresh, made, 9, "SN_TEST")
    assert (refused.value.number, refused.value.rule) == (9, rule)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda block: block["transactions"][0]["receipt"].update(execution_resources=[1, 2]),
            id="resources in a list",
        ),
        pytest.param(
            lambda block: block["transactions"][0]["receipt"].update(execution_status={"SUCCEEDED": None}),
            id="a status in an object",
        ),
        pytest.param(
            lambda block: block["transactions"][0]["receipt"]["events"].__setitem__(
                0, ["0xb", ["0x1"], ["0x2", "0x3"]]
            ),
            id="an event in a list",
        ),
        pytest.param(
            lambda block: block["transactions"][0]["transaction"].update(
                resource_bounds=[["0x10", "0x20"]] * 3
            ),
            id="bounds in lists",
        ),
        pytest.param(
            lambda block: block["transactions"][0]["transaction"].update(
                nonce_data_availability_mode={"L1": None}
            ),
            id="a mode in an object",
        ),
    ],
)
async def test_values_in_another_form_are_refused_even_if_they_hash_right(
    fresh: StarknetChain, made: Path, change: Callable[[Json], Any]
) -> None:
    edit(made / "block.json", change)
    with pytest.raises(InvalidStarknetBlockError) as refused:
        await bring(fresh, made, 9, "SN_TEST")
    assert refused.value.rule == "transactions"


async def test_another_state_difference_is_refused(fresh: StarknetChain, made: Path) -> None:
    edit(made / "update.json", lambda update: update["state_diff"]["nonces"].clear())
    with pytest.raises(InvalidStarknetBlockError) as refused:
        await bring(fresh, made, 9, "SN_TEST")
    assert refused.value.rule == "block_hash"


async def test_without_a_chain_id_blocks_are_stored_without_transactions(
    fresh: StarknetChain, made: Path
) -> None:
    edit(made / "block.json", change_calldata)
    [report] = await bring(fresh, made, 9, None)
    assert report.startswith("1 blocks are stored without their transactions")
    with fresh.snapshot() as snapshot:
        assert snapshot.body(9) is None


async def test_a_header_of_another_file_does_not_replace_what_is_proved(
    fresh: StarknetChain, made: Path
) -> None:
    block = json.loads((made / "block.json").read_text())
    others = {name: value for name, value in block.items() if name != "transactions"}
    (made / "z.json").write_text(json.dumps(others | {"timestamp": 1, "parent_hash": "0x99"}))
    await bring(fresh, made, 9, "SN_TEST")
    assert header(fresh, 9)["timestamp"] == block["timestamp"]


async def test_the_first_block_of_the_main_network_is_proved_without_being_told_its_name(
    fresh: StarknetChain, tmp_path: Path
) -> None:
    shutil.copy(require_vectors(GENESIS), tmp_path / "0.json")
    assert await bring(fresh, tmp_path, 0, None) == []


async def test_the_gateways_form_is_verified_as_well(fresh: StarknetChain, tmp_path: Path) -> None:
    shutil.copy(require_vectors(GENESIS), tmp_path / "0.json")
    edit(tmp_path / "0.json", lambda document: document["block"]["transactions"][7]["calldata"].append("0x1"))
    with pytest.raises(InvalidStarknetBlockError) as refused:
        await bring(fresh, tmp_path, 0, None)
    assert refused.value.rule == "transactions[7].receipt.transaction_hash"


@pytest.mark.parametrize(
    ("files", "number"),
    [
        (["sepolia_integration_9703_with_block.json"], 9703),
        (["sepolia_integration_35748.json", "sepolia_integration_35748_block.json"], 35748),
    ],
    ids=["0.13.1", "0.13.2"],
)
async def test_blocks_of_the_gateway_are_proved(
    fresh: StarknetChain, tmp_path: Path, files: list[str], number: int
) -> None:
    for name in files:
        shutil.copy(require_vectors(f"starknet/single/{name}"), tmp_path)
    assert await bring(fresh, tmp_path, number, "SN_INTEGRATION_SEPOLIA") == []
    assert header(fresh, number)["block_number"] == number


async def test_a_real_block_of_a_node_is_proved(fresh: StarknetChain, tmp_path: Path) -> None:
    vector = json.loads(require_vectors("starknet-live/blocks/sepolia_3100000.json").read_text())
    (tmp_path / "1.json").write_text(json.dumps(vector["block"]))
    (tmp_path / "2.json").write_text(json.dumps(vector["state_update"]))
    assert await bring(fresh, tmp_path, 3100000, "SN_SEPOLIA") == []
    with fresh.snapshot() as snapshot:
        assert snapshot.number_of(felt_bytes(vector["block"]["block_hash"])) == 3100000
