"""How large is the source, and how much of it is hard to find or to read?

    python -m tests.prose.source_figures

prints a Markdown table of figures that CONTRIBUTING.md wants to be small, or large: modules, names, comments
and tests of the package and of its crate.
"""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Final

from tests.prose.doc_comments import CRATE, FAULTS, PACKAGE, all_doc_comments
from tests.vector_files import CHECKOUT

_OTHERS: Final = {("bench",), ("deploy",), ("docs",)}
"""Folders of tests that have the names of folders beside the package."""

SMALL: Final = 130
"""Lines up to which a module with one importer might be a part of it."""


def figures() -> Iterator[tuple[str, str]]:
    """Yield each figure with its name."""
    modules = {path: path.read_text() for path in _modules()}
    crate = [path.read_text() for path in CRATE.rglob("*.rs")]
    lines = [text.count("\n") for path, text in modules.items() if path.name != "__init__.py"]
    yield "lines of Python, of Rust", f"{sum(lines):,}, {sum(text.count(chr(10)) for text in crate):,}"
    yield "modules, and their median lines", f"{len(lines)}, {median(lines):.0f}"
    yield (
        f"modules of at most {SMALL} lines with one importer, in the same folder",
        f"{len(_lonely(modules))}",
    )
    names = Counter(name for text in modules.values() for name in _classes(text))
    twice = sum(count > 1 for count in names.values())
    yield "class names that stand more than once, of all", f"{twice} of {len(names)}"
    docs = all_doc_comments()
    yield "comments of functions, classes, fields and modules", f"{len(docs):,}"
    for fault, is_there in FAULTS.items():
        yield f"of these: {fault}", f"{sum(map(is_there, docs))}"
    named, tests = _tests(modules)
    yield "test files that begin with the name of what they test", f"{named} of {tests}"


def _modules() -> Iterator[Path]:
    return (
        path for path in sorted(PACKAGE.rglob("*.py")) if "_native" not in path.relative_to(PACKAGE).parts
    )


def _classes(text: str) -> list[str]:
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]


def _name_of(path: Path) -> str:
    return ".".join(path.relative_to(CHECKOUT).with_suffix("").parts)


def _lonely(modules: dict[Path, str]) -> list[str]:
    """Return the names of small modules that one other module imports, which is in the same folder."""
    importers: dict[str, set[str]] = {}
    for path, text in modules.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module:
                targets = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
            elif isinstance(node, ast.Import):
                targets = [each.name for each in node.names]
            else:
                continue
            for target in targets:
                importers.setdefault(target, set()).add(_name_of(path))
    return [
        name
        for path, text in modules.items()
        if path.name != "__init__.py" and text.count("\n") <= SMALL
        if len(found := importers.get(name := _name_of(path), set())) == 1
        if next(iter(found)).rpartition(".")[0] == name.rpartition(".")[0]
    ]


def _tests(modules: dict[Path, str]) -> tuple[int, int]:
    """Return the number of test files that begin with the name of what they test, and that of all."""
    tests = list((CHECKOUT / "tests").rglob("test_*.py"))
    named = sum(
        any(
            path.stem == f"test_{stem}" or path.stem.startswith(f"test_{stem}_")
            for stem in _tested(path, modules)
        )
        for path in tests
    )
    return named, len(tests)


def _tested(path: Path, modules: Mapping[Path, str]) -> set[str]:
    """Return the names of what the tests of a folder may test.

    Modules and folders of the package in the place of the test's folder, modules of the tests in that folder,
    and, as the folder is called, pages, scripts of `bench` and files of `deploy`.
    """
    place = path.parent.relative_to(CHECKOUT / "tests")
    folder = PACKAGE / place
    beside = [each for each in modules if each.parent == folder or each.parent.parent == folder]
    beside += [each for each in path.parent.glob("*.py") if not each.stem.startswith(("test_", "conftest"))]
    if place.parts[:1] in _OTHERS:
        beside += [*(CHECKOUT / place).rglob("*"), *CHECKOUT.glob("*.md")]
    names = {each.stem for each in beside} | {each.parent.name for each in beside} | {folder.name}
    return {name.lower().replace("-", "_") for name in names}


if __name__ == "__main__":
    print("| figure | now |\n|---|---|")
    for name, figure in figures():
        print(f"| {name} | {figure} |")
