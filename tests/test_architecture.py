"""Who may import whom: changing this table is an architecture change."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import wsnode

PACKAGE = Path(wsnode.__file__).parent
MAY_IMPORT = {
    "jsonrpc": set[str](),
    "store": set[str](),
    "pubsub": set[str](),
    "ethereum": {"jsonrpc", "pubsub", "store"},
    "starknet": {"jsonrpc", "pubsub", "store"},
    "server": {"jsonrpc", "pubsub"},
    "sync": {"pubsub", "ethereum", "starknet"},
    "verify": set[str](),
    "load": set[str](),
}
COMPOSITION = {
    "__main__",
    "addresses",
    "cli",
    "cli_bench",
    "cli_development",
    "cli_import",
    "cli_keys",
    "cli_options",
    "cli_outage",
    "cli_verify",
    "config",
    "demo",
    "failures",
    "networks",
    "node",
    "settings",
    "terminal",
}
USES_TRIO = {"server", "sync", "pubsub", "node", "cli", "cli_import", "cli_verify", "demo", "verify"}
USES_TRIO_IN = ("ethereum/live/", "starknet/live/")
USES_NATIVE = (
    "jsonrpc/",
    "store/",
    "ethereum/state.py",
    "ethereum/codec/",
    "starknet/native.py",
    "server/frames.py",
)


def modules() -> list[Path]:
    return sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))


def room(path: Path) -> str:
    return path.parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse((PACKAGE / path).read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            module = node.module or ""
            yield from ({module} | {f"{module}.{alias.name}" for alias in node.names})


@pytest.mark.parametrize("path", modules(), ids=str)
def test_a_module_imports_only_what_its_room_may(path: Path) -> None:
    own = room(path)
    if own in COMPOSITION or own == "__init__":
        return
    allowed = MAY_IMPORT[own] | {own, "_native"}
    for name in imported(path):
        if name.startswith("wsnode."):
            assert name.split(".")[1] in allowed, f"{path} imports {name}"


@pytest.mark.parametrize("path", modules(), ids=str)
def test_trio_and_the_engine_have_their_few_importers(path: Path) -> None:
    names = {name.split(".")[0] for name in imported(path)}
    assert "trio" not in names or room(path) in USES_TRIO or str(path).startswith(USES_TRIO_IN)
    if any(name.startswith("wsnode._native") for name in imported(path)):
        assert str(path).startswith(USES_NATIVE) or room(path) in COMPOSITION


@pytest.mark.parametrize("path", [path for path in modules() if path.name == "__init__.py"], ids=str)
def test_a_folder_says_its_job_and_nothing_else(path: Path) -> None:
    body = ast.parse((PACKAGE / path).read_text()).body
    assert len(body) == 1
    assert isinstance(body[0], ast.Expr)
