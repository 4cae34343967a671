import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.vector_files import find_vectors, require_vectors
from wsnode.starknet.classes.decode import decode_class
from wsnode.starknet.classes.definition import ClassKind, NotAClassError
from wsnode.starknet.dump.class_files import ClassFiles
from wsnode.starknet.felt import felt_bytes, felt_text

FOLDER = find_vectors("starknet/classes")
FILES = sorted(FOLDER.glob("0x*.json.gz")) if FOLDER else []
HASHES_OF_REPLIES = {
    "class_0x29927c8a.json.gz": "0x29927c8af6bccf3f6fda035981e765a7bdbf18a2dc0d630494f8758aa908e2b",
    "class_0x816dd029.json.gz": "0x816dd0297efc55dc1e7559020a3a825e81ef734b558f03c83325d4da7e6253",
    "class_at_pathfinder_cairo0.json": "0x50b2148c0d782914e0b12a1a32abe5e398930b7e914f82c65cb7afce0a0ab9b",
    "class_at_pathfinder_sierra.json.gz": "0x4e70b19333ae94bd958625f7b61ce9eec631653597e68645e13780061b2136c",
}


def text_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def program_of(definition: dict[str, Any]) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(definition["program"])))


def source(**changes: Any) -> dict[str, Any]:
    path = require_vectors(
        "starknet/classes/0x371b5f7c5517d84205365a87f02dcef230efa7b4dd91a9e4ba7e04c5b69d69b.json.gz"
    )
    definition: dict[str, Any] = json.loads(text_of(path))
    return definition | changes


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:12])
def test_a_class_of_the_feeder_hashes_to_its_name(path: Path) -> None:
    assert felt_text(decode_class(text_of(path)).class_hash) == path.name.split(".")[0]


@pytest.mark.parametrize("name", HASHES_OF_REPLIES)
def test_a_class_of_a_node_hashes_to_the_same(name: str) -> None:
    text = text_of(require_vectors(f"starknet/rpc/{name}"))
    assert felt_text(decode_class(text).class_hash) == HASHES_OF_REPLIES[name]


@pytest.mark.parametrize("name", HASHES_OF_REPLIES)
def test_the_answer_is_what_another_node_answers(name: str) -> None:
    reply = json.loads(text_of(require_vectors(f"starknet/rpc/{name}")))
    expected = reply.get("result", reply)
    feeder = find_vectors(f"starknet/classes/{HASHES_OF_REPLIES[name]}.json.gz")
    text = text_of(feeder) if feeder else json.dumps(expected).encode()
    answered = json.loads(decode_class(text).rendered)
    if "program" in expected:
        # Nodes differ only in the gzip bytes, and in whether an empty list of attributes is present.
        programs = [program_of(answered), program_of(expected)]
        for program in programs:
            program.pop("attributes", None)
        assert programs[0] == programs[1]
        del answered["program"], expected["program"]
    assert answered == expected


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name[:12])
def test_an_answered_class_can_be_read_again(path: Path) -> None:
    first = decode_class(text_of(path))
    again = decode_class(first.rendered)
    assert again == first


def test_a_program_goes_through_unchanged() -> None:
    definition = source()
    assert (
        program_of(json.loads(decode_class(json.dumps(definition).encode()).rendered))
        == definition["program"]
    )


def test_the_answer_has_all_kinds_of_entry_points_and_no_abi_that_is_null() -> None:
    definition = source()
    external = definition["entry_points_by_type"]["EXTERNAL"]
    definition["entry_points_by_type"] = {"EXTERNAL": external}
    answered = json.loads(decode_class(json.dumps(definition).encode()).rendered)
    assert (
        answered["entry_points_by_type"]["CONSTRUCTOR"]
        == answered["entry_points_by_type"]["L1_HANDLER"]
        == []
    )
    assert "abi" not in answered


@pytest.mark.parametrize("offset", [58, "58", "0x3a"])
def test_an_offset_is_hex_however_the_feeder_wrote_it(offset: int | str) -> None:
    definition = source()
    definition["entry_points_by_type"]["EXTERNAL"] = [{"selector": "0x01", "offset": offset}]
    answered = json.loads(decode_class(json.dumps(definition).encode()).rendered)
    assert answered["entry_points_by_type"]["EXTERNAL"] == [{"offset": "0x3a", "selector": "0x1"}]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"[]",
        b"5",
        b"{}",
        b'{"code":"StarknetErrorCode.UNDECLARED_CLASS","message":"not declared"}',
        b'{"sierra_program":["0x1"]}',
        b'{"sierra_program":["1"],"contract_class_version":"0.1.0","entry_points_by_type":{}}',
        b'{"sierra_program":[],"contract_class_version":"0.1.0","entry_points_by_type":{"X":[]}}',
        b'{"program":"%%%","entry_points_by_type":{}}',
        b'{"program":"H4sI","entry_points_by_type":{}}',
        b'{"program":{},"entry_points_by_type":{}}',
        b'{"program":{"data":["0x1"],"builtins":[],"hints":[]},"entry_points_by_type":{}}',
        b'{"program":[1],"entry_points_by_type":{}}',
    ],
)
def test_what_is_no_class_is_refused_in_words(text: bytes) -> None:
    with pytest.raises(NotAClassError, match=r"\w+"):
        decode_class(text)


def test_a_cairo0_class_of_another_hash_is_reported_and_taken(tmp_path: Path) -> None:
    definition = source()
    definition["program"]["builtins"] = []
    (tmp_path / "0x5.json").write_text(json.dumps(definition))
    reports: list[str] = []
    files = ClassFiles(reports.append)
    files.add_folder(tmp_path)
    found = files.find(felt_bytes("0x5"))
    assert found is not None
    assert found.kind is ClassKind.CAIRO0
    assert found.class_hash == felt_bytes("0x5")
    assert "class 0x5 is taken, though it hashes to 0x" in reports[0]


def test_a_sierra_class_of_another_hash_is_refused(tmp_path: Path) -> None:
    definition = {"sierra_program": ["0x1"], "contract_class_version": "0.1.0", "entry_points_by_type": {}}
    (tmp_path / "0x5.json").write_text(json.dumps(definition))
    reports: list[str] = []
    files = ClassFiles(reports.append)
    files.add_folder(tmp_path)
    assert files.find(felt_bytes("0x5")) is None
    assert "class 0x5 is refused: it hashes to 0x" in reports[0]
