"""Case files: what is read, and what is refused by name."""

from pathlib import Path

import pytest

from wsnode.verify.cases import Case, CaseFileError, Exchange, methods_of, read_case, read_cases

CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}'
REPLY = '{"jsonrpc":"2.0","id":1,"result":"0x1"}'


def written(folder: Path, text: str) -> Path:
    path = folder / "eth_chainId" / "get.io"
    path.parent.mkdir()
    path.write_text(text)
    return path


def test_a_conversation_is_read(tmp_path: Path) -> None:
    written(tmp_path, f"// asks for the chain\n>> {CALL}\n<< {REPLY}\n\n>> {CALL}\n<< {REPLY}\n")
    assert read_cases(tmp_path) == [Case("eth_chainId/get", [Exchange(CALL, REPLY)] * 2)]


def test_a_first_comment_may_ask_for_the_shape_only(tmp_path: Path) -> None:
    path = written(tmp_path, f"// speconly: the pool differs\n>> {CALL}\n<< {REPLY}\n")
    assert read_case(path, tmp_path).shape_only


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("hello\n", "bad line 'hello'"),
        (f">> {CALL}\n", "1 requests, 0 replies"),
        (f"<< {REPLY}\n", "bad line"),
        (f">> {CALL}\n<< {{\n", "a reply is no JSON"),
    ],
)
def test_a_bad_file_is_named(text: str, reason: str, tmp_path: Path) -> None:
    path = written(tmp_path, text)
    with pytest.raises(CaseFileError, match=f"{path}: .*{reason}"):
        read_case(path, tmp_path)


def test_methods_are_those_of_a_call_and_of_a_batch() -> None:
    assert methods_of(CALL) == ["eth_chainId"]
    assert methods_of(f"[{CALL},{CALL}]") == ["eth_chainId"] * 2
    assert methods_of("{") == []
