"""The tables of codes are read from constants and their docstrings."""

import pytest

from tests.docs.generated.error_codes import MODULES, error_codes, table
from tests.test_error_codes import TABLES


@pytest.mark.parametrize("part", MODULES)
def test_a_table_has_each_constant_of_its_module(part: str) -> None:
    module = MODULES[part]
    assert {each.name: each.code for each in error_codes(module)} == TABLES[module]


def test_a_row_has_code_name_source_and_meaning() -> None:
    assert (
        "| -32602 | invalid params | JSON-RPC 2.0 | An argument is malformed, missing or superfluous. |\n"
    ) in table("all")
    assert "| 20 | contract not found | starknet-specs |  |\n" in table("starknet")


def test_a_source_is_a_document_or_a_program() -> None:
    sources = {each.source for module in MODULES.values() for each in error_codes(module)}
    assert sources == {
        "EIP-1474",
        "JSON-RPC 2.0",
        "execution-apis",
        "geth",
        "geth, EIP-7966",
        "starknet-specs",
        "wsnode",
    }
