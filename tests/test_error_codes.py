"""Every error code stands in one table, under one name, and the documents list what the tables have."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import wsnode
from tests.memory_transport import asking
from tests.vector_files import CHECKOUT
from wsnode.demo.accounts import ACCOUNTS
from wsnode.demo.development_service import DevelopmentService, DevelopmentSettings
from wsnode.demo.genesis import demo_genesis
from wsnode.demo.run import build_ethereum
from wsnode.demo.starknet_chain import build_starknet
from wsnode.ethereum import codes
from wsnode.jsonrpc import errors
from wsnode.jsonrpc.dispatcher import Dispatcher
from wsnode.node.assembly import open_network
from wsnode.node.config import Config, EngineConfig, NetworkConfig
from wsnode.starknet.rpc import errors as starknet_errors

PACKAGE = Path(wsnode.__file__).parent
PAGES = sorted((CHECKOUT / "docs").rglob("*.md"))


def constants(module: ModuleType) -> dict[str, int]:
    return {name: value for name, value in vars(module).items() if name.isupper() and type(value) is int}


TABLES = {
    # Its bounds are positive.
    errors: {name: value for name, value in constants(errors).items() if value < 0},
    codes: constants(codes),
    # What it imports of the first is negative.
    starknet_errors: {name: value for name, value in constants(starknet_errors).items() if value > 0},
}
CODES = Counter(value for table in TABLES.values() for value in table.values())
MEANING_TWO_THINGS = {errors.TIMED_OUT: {"TIMED_OUT", "RESOURCE_UNAVAILABLE"}}
STRANGERS = ("verify/",)
"""What sees every node from outside and imports nothing of ours."""
SOURCES = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if str(path) not in {module.__file__ for module in TABLES}
    and not path.relative_to(PACKAGE).as_posix().startswith(STRANGERS)
]
OF_NO_METHOD = {errors.PARSE_ERROR, errors.INVALID_REQUEST, errors.RESTARTING, codes.HALTED}
"""Codes of what is no call, of a subscription's last notice, and inside a result."""
CARRIERS = {"RpcError", "_error"}
"""Whatever takes a code as its first argument."""


def literal(node: ast.AST) -> int | None:
    """Return the number that an expression spells out."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = literal(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def spelled_out(tree: ast.AST) -> Iterator[int]:
    """Yield codes that have no other meaning, and every number that is passed as one."""
    for node in ast.walk(tree):
        number = literal(node)
        if number is not None and number in CODES and number < 0:
            yield number
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CARRIERS:
            numbers = map(literal, node.args[:1])
            yield from (number for number in numbers if number is not None)


def test_no_code_stands_beside_the_tables() -> None:
    found = {path: list(spelled_out(ast.parse(path.read_text()))) for path in SOURCES}
    assert {path: codes for path, codes in found.items() if codes} == {}


def test_a_code_has_one_name_unless_two_documents_give_it_two_meanings() -> None:
    names: dict[int, set[str]] = {}
    for table in TABLES.values():
        for name, code in table.items():
            names.setdefault(code, set()).add(name)
    assert {code: each for code, each in names.items() if len(each) > 1} == MEANING_TWO_THINGS


def test_the_document_names_every_code_that_a_call_can_end_with(tmp_path: Path) -> None:
    build_ethereum(tmp_path)
    build_starknet(tmp_path)
    told = NetworkConfig(str(tmp_path))
    grow = DevelopmentService(DevelopmentSettings(0, ACCOUNTS), with_traffic=False)
    with open_network("one", told, Config(networks={"one": told}, open=True), grow=grow) as network:
        document = asking(Dispatcher(network.registry, network.open_view))("rpc.discover")["result"]
    named = {error["code"] for method in document["methods"] for error in method["errors"]}
    engine = tmp_path / "engine"
    genesis = tmp_path / "genesis.json"
    genesis.write_bytes(demo_genesis())
    driven = NetworkConfig(str(engine), engine=EngineConfig(genesis=str(genesis)))
    with open_network("two", driven, Config(networks={"two": driven}, open=True)) as network:
        methods = network.ports[0].network.registry.methods.values()
        named |= {error.code for method in methods for error in method.errors}
    assert named == CODES.keys() - OF_NO_METHOD


def test_the_page_of_codes_has_a_row_for_each() -> None:
    rows = re.findall(
        r"^\| (-?\d+) \|", (CHECKOUT / "docs" / "reference/errors.md").read_text(), re.MULTILINE
    )
    assert Counter(map(int, rows)) == CODES


def test_other_pages_name_no_other_code() -> None:
    code = re.compile(r"(?<![\w.-])-3[28]\d{3}\b")
    named = {(page.name, int(found)) for page in PAGES for found in code.findall(page.read_text())}
    assert {(page, found) for page, found in named if found not in CODES} == set()
