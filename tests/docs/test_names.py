"""Names of modules and public classes are built of words of the glossary and of Python's own library."""

import ast
import builtins
import importlib
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import wsnode

PACKAGE = Path(wsnode.__file__).parent
GLOSSARY = PACKAGE.parent / "docs/contributing/glossary.md"
LIBRARY = """
asyncio collections.abc concurrent.futures contextlib decimal gc hashlib http inspect io itertools
json logging os pathlib queue resource select selectors shutil signal socket ssl string struct
subprocess tempfile threading time types typing urllib.parse weakref
"""
EXCEPTIONS = "below built lenient seen turn unscheduled"
"""Words that need a better one, each in use: none may be added, and one that is gone must leave the list."""


def words_of(name: str) -> list[str]:
    """Return the words of a name in any case, in small letters."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+|[a-z]+", name)]


def names() -> Iterator[str]:
    """Yield the names of all modules, folders and public classes of the package."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield from path.relative_to(PACKAGE).with_suffix("").parts
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name


@cache
def vocabulary() -> set[str]:
    """Return the words of the glossary's tables, and of the names in Python's library."""
    found = {word for name in (*sys.stdlib_module_names, *dir(builtins)) for word in words_of(name)}
    for module in LIBRARY.split():
        found.update(word for name in dir(importlib.import_module(module)) for word in words_of(name))
    terms, others = GLOSSARY.read_text().split("\n## Other words of names\n")
    for text, column in ((terms, 1), (others, 2)):
        rows = (line.split("|") for line in text.splitlines() if line.startswith("| "))
        found.update(word for row in rows for word in re.findall("[a-z0-9]+", row[column].lower()))
    return found


def forms(word: str) -> Iterator[str]:
    """Yield a word, and those that it may be the plural, the participle or the agent of."""
    yield word
    for ending, others in (
        ("ies", ("y",)),
        ("s", ("",)),
        ("es", ("",)),
        ("ed", ("", "e")),
        ("ing", ("", "e")),
        ("er", ("", "e")),
        ("or", ("", "e")),
    ):
        if word.endswith(ending) and len(word) > len(ending) + 2:
            stem = word.removesuffix(ending)
            yield from (stem + other for other in others)
            if stem[-1] == stem[-2]:
                yield stem[:-1]


def test_names_are_built_of_the_words_of_the_glossary() -> None:
    exceptions = set(EXCEPTIONS.split())
    words = {word: name for name in names() for word in words_of(name)}
    unknown = {word for word in words if not vocabulary().intersection(forms(word))}
    assert {word: words[word] for word in unknown - exceptions} == {}, (
        "add a word with its source, or use another"
    )
    assert exceptions - unknown == set(), "these are needed no more"


def test_a_plural_a_participle_and_an_agent_are_forms_of_a_word() -> None:
    assert "fetch" in forms("fetchers") or "fetcher" in forms("fetchers")
    assert "serve" in forms("serving")
    assert "query" in forms("queries")
    assert "plan" in forms("planning")
