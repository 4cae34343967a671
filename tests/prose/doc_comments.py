"""Finds docstrings and comments of the package, and of its crate, that are hard to read.

    python -m tests.prose.doc_comments [FOLDER...]

prints them: a sentence with two relative clauses, a comment that begins with a pronoun, a function whose
docstring begins with no verb, a word in whose place the field has another one, and a result whose shape is
not said: when it is None, what True means, in which unit a time is.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

from tests.vector_files import CHECKOUT

PACKAGE: Final = CHECKOUT / "wsnode"
CRATE: Final = PACKAGE / "native" / "src"
CODE: Final = re.compile(r"```.*?(?:```|$)|`[^`]*`", re.DOTALL)
RELATIVE: Final = re.compile(r"\b(that|which|what|whose|who|whom)\b", re.IGNORECASE)
SENTENCE_ENDS: Final = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n")
PRONOUNS: Final = frozenset({"What", "Whether", "Those", "That", "How"})
NOUNLESS: Final = PRONOUNS | {"It", "Its", "He", "They", "Their", "Who", "Whoever", "Whatever"}
"""Words at the beginning of a comment in a function, in whose place a noun says what is spoken of."""
VERBS: Final = frozenset(Path(__file__).with_name("verbs.txt").read_text().split())
"""Verbs that open the first sentence of a function."""
HOUSE_WORDS: Final = re.compile(
    r"\b(told|tells?|gone|heard|hears?|look(s|ed|ing)?\b(?![- ]ups?\b)|puts? on|at once|by then|in vain"
    r"|nobody|somebody|anybody|ours|theirs)\b|(?-i:^Most)\b",
    re.IGNORECASE,
)
"""Words in whose place the field has one with an actor or a meaning: sent, published, received, pruned,
compared, immediately, concurrently, in one call; and "Most" in place of "Maximum number of".
"""
SAYS_NONE: Final = re.compile(
    r"\bNone\s+(if|for|before|after|without|while|until|unless|once|where|when|in|at|beyond|below|since)\b"
    r"|\bReturn None\b|\bnever None\b"
)
SAYS_TRUE: Final = re.compile(r"\b[Rr]eturns?\s+(True|False)\b")
RUST_ITEM: Final = re.compile(
    r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?(?:extern\s+\"C\"\s+)?"
    r"(fn|struct|enum|trait|type|const|static|mod|union|macro_rules!)\s+(\w+)"
)


class DocComment(NamedTuple):
    """A docstring, or a doc comment of Rust."""

    path: str
    """Its file, below the package."""
    name: str
    """What it describes: the module, a qualified name, or a name of the crate."""
    is_function: bool
    text: str
    returns: str = ""
    """The annotation of a function's result; empty for Rust."""
    is_plain: bool = False
    """True for a comment between lines of code."""

    @property
    def sentences(self) -> list[str]:
        """Return its sentences, without code and without the sections that Google's style has."""
        prose = CODE.sub("x", self.text)
        return [each for each in SENTENCE_ENDS.split(prose) if each.strip()]

    @property
    def opens_with_pronoun(self) -> bool:
        """Return True if its first word is a pronoun or question word instead of a verb or noun."""
        return self._first_word in (NOUNLESS if self.is_plain else PRONOUNS)

    @property
    def opens_with_verb(self) -> bool:
        """Return whether its first word is a known verb in the imperative."""
        return self._first_word in VERBS

    @property
    def house_words(self) -> list[str]:
        """Return the words of its sentences in whose place the field has another one."""
        found = [word[0] for each in self.sentences for word in HOUSE_WORDS.finditer(each.strip())]
        return [word for word in found if not (self.is_plain and word == "Most")]

    @property
    def hides_none(self) -> bool:
        """Return True if the result may be None, and the text does not say when."""
        return self.returns.endswith("| None") and not SAYS_NONE.search(self.text)

    @property
    def hides_true(self) -> bool:
        """Return True if the result is a bool, and the text does not say when it is True or False."""
        return self.returns == "bool" and not SAYS_TRUE.search(self.text)

    @property
    def hides_seconds(self) -> bool:
        """Return True if the result is a time, and the text does not name seconds."""
        return (
            self.returns == "float" and bool(re.search(r"\btime\b", self.text)) and "second" not in self.text
        )

    @property
    def _first_word(self) -> str:
        return (self.text.split(maxsplit=1) or [""])[0].strip(",.:;")

    @property
    def nested_sentences(self) -> list[str]:
        """Return its sentences with two or more relative clauses; "so that" begins none in a comment."""
        return [each for each in self.sentences if self._relative_clauses(each) > 1]

    def _relative_clauses(self, sentence: str) -> int:
        conjunctions = sentence.count("so that") if self.is_plain else 0
        return len(RELATIVE.findall(sentence)) - conjunctions


def all_doc_comments() -> list[DocComment]:
    """Return all of the package and of the crate, in the order of their files."""
    found = list[DocComment]()
    for path in sorted(PACKAGE.rglob("*.py")):
        if "_native" not in path.relative_to(PACKAGE).parts:
            source, name = path.read_text(), path.relative_to(PACKAGE).as_posix()
            found += [*python_docs(source, name), *plain_comments(source, name)]
    for path in sorted(CRATE.rglob("*.rs")):
        source, name = path.read_text(), path.relative_to(PACKAGE).as_posix()
        found += [*rust_docs(source, name), *plain_comments(source, name)]
    return found


def python_docs(source: str, path: str) -> Iterator[DocComment]:
    """Yield the docstrings of a module: its own, and those of its classes, functions and attributes."""
    tree = ast.parse(source)
    if text := ast.get_docstring(tree):
        yield DocComment(path, "", False, text)
    yield from _python_docs(tree, path, "")


def _python_docs(node: ast.AST, path: str, prefix: str) -> Iterator[DocComment]:
    before: ast.AST | None = None
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            returns = (
                "" if isinstance(child, ast.ClassDef) or child.returns is None else ast.unparse(child.returns)
            )
            if text := ast.get_docstring(child):
                yield DocComment(path, name, not isinstance(child, ast.ClassDef), text, returns)
            yield from _python_docs(child, path, f"{name}.")
        elif _is_text(child) and isinstance(before, ast.Assign | ast.AnnAssign):
            target = before.targets[0] if isinstance(before, ast.Assign) else before.target
            yield DocComment(path, f"{prefix}{ast.unparse(target)}", False, child.value.value)  # type: ignore[attr-defined]
        before = child


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def rust_docs(source: str, path: str) -> Iterator[DocComment]:
    """Yield the doc comments of a Rust file: its own, and those of its items and fields."""
    lines, inner, outer = source.splitlines(), list[str](), list[str]()
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("//!"):
            inner.append(stripped[3:].strip())
        elif stripped.startswith("///"):
            outer.append(stripped[3:].strip())
        elif outer and not stripped.startswith(("#[", "//")):
            item = RUST_ITEM.match(line)
            field = re.match(r"(?:pub(?:\([^)]*\))?\s+)?(\w+)", stripped)
            name = item[2] if item else field[1] if field else stripped
            yield DocComment(path, name, bool(item and item[1] == "fn"), "\n".join(outer))
            outer = []
    if inner:
        yield DocComment(path, "", False, "\n".join(inner))


def plain_comments(source: str, path: str) -> Iterator[DocComment]:
    """Yield the comments between lines of code; each is named by the number of its first line."""
    mark = "# " if path.endswith(".py") else "// "
    lines = [line.strip() for line in source.splitlines()]
    for is_comment, run in groupby(enumerate(lines, 1), lambda line: line[1].startswith(mark)):
        block = list(run)
        if is_comment:
            text = " ".join(line.removeprefix(mark) for _, line in block)
            yield DocComment(path, f"line {block[0][0]}", False, text, is_plain=True)


FAULTS: Final[dict[str, Callable[[DocComment], bool]]] = {
    "two relative clauses": lambda doc: bool(doc.nested_sentences),
    "begins with a pronoun": lambda doc: doc.opens_with_pronoun,
    "begins without a verb": lambda doc: doc.is_function and not doc.opens_with_verb,
    "house word": lambda doc: bool(doc.house_words),
    "does not say when it is None": lambda doc: doc.hides_none,
    "does not say what True means": lambda doc: doc.hides_true,
    "a time without seconds": lambda doc: doc.hides_seconds,
}


def faults() -> list[str]:
    """Return a line for each fault of a comment: its file, its name, and the fault."""
    return sorted(
        {
            f"{doc.path} {doc.name or '(module)'}: {fault}"
            for doc in all_doc_comments()
            for fault, is_there in FAULTS.items()
            if is_there(doc)
        }
    )


if __name__ == "__main__":
    print(*(line for line in faults() if line.startswith(tuple(sys.argv[1:] or [""]))), sep="\n")
