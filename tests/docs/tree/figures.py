"""How easy is the tree to read, by figures, and how easy was it at earlier commits?

    python -m tests.docs.tree.figures [COMMIT …]

A table with a column a commit, HEAD alone if none is given: names that two classes share, modules and
folders, words for a limit, lines, and sentences that are hard to read.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from statistics import median

SMALL = 130
"""Lines of a module that might as well be a part of its one importer."""
LIMIT_WORDS = (
    "allowance bound bounds budget cap capacity ceiling depth grace largest limit longest max maximum most "
    "patience quota room share size spare threshold timeout window"
)
"""Words that a name may have in place of `limit`."""
RUST_TYPE = re.compile(
    r"^(?:pub(?:\([a-z: ]+\))? )?(?:struct|enum|trait|type|union) ([A-Z]\w*)", re.MULTILINE
)
RELATIVE = re.compile(r"\b(?:that|which|what|whose|who|whom)\b", re.IGNORECASE)
NO_VERB = ("What", "Those", "That", "Whether", "How")


class Tree:
    """The files of `wsnode` and `tests` at a commit."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self._files = files

    @cached_property
    def modules(self) -> dict[str, ast.Module]:
        """Python modules of the package, by path."""
        return {path: ast.parse(self._files[path]) for path in self._of("wsnode/", ".py")}

    @cached_property
    def _rust(self) -> list[str]:
        paths = self._of("wsnode/native/src/", ".rs")
        return [self._files[path] for path in paths if "test" not in PurePosixPath(path).stem]

    def _of(self, folder: str, ending: str) -> list[str]:
        return [path for path in self._files if path.startswith(folder) and path.endswith(ending)]

    def figures(self) -> Iterator[tuple[str, str]]:
        """Yield the names of the figures, and their values."""
        code = [path for path in self.modules if not path.endswith("__init__.py")]
        lengths = {path: self._files[path].count("\n") for path in code}
        yield "Python modules", str(len(code))
        yield "lines of the median module", f"{median(lengths.values()):.0f}"
        yield "folders of Python", str(len({PurePosixPath(path).parent for path in code}))
        yield (
            f"modules with one importer, beside it, of up to {SMALL} lines",
            str(len(self.small_modules())),
        )
        yield "class names that stand twice, of all names", _twice(self._classes())
        yield (
            "type names in Rust that stand twice, of all names",
            _twice(name for text in self._rust for name in RUST_TYPE.findall(text)),
        )
        words = Counter(word for name in self._constants_and_members() for word in name.lower().split("_"))
        yield "words for a limit in names", str(sum(word in words for word in LIMIT_WORDS.split()))
        docstrings = [text for tree in self.modules.values() for text in _docstrings(tree)]
        sentences = [each for text in docstrings for each in re.split(r"(?<=[.:;?])\s+", text) if each]
        hard = sum(len(RELATIVE.findall(sentence)) > 1 for sentence in sentences)
        yield "docstring sentences with two relative clauses, of all", f"{hard} of {len(sentences)}"
        yield (
            f"docstrings that begin with {', '.join(NO_VERB)}",
            str(sum(text.split(maxsplit=1)[:1] in [[word] for word in NO_VERB] for text in docstrings)),
        )
        yield "test files that name a module", self._tests_of_modules(code)
        lines = sum(lengths.values()), sum(text.count("\n") for text in self._rust)
        yield "lines of Python, of Rust", "{:,}, {:,}".format(*lines)

    def _classes(self) -> Iterator[str]:
        for tree in self.modules.values():
            yield from (node.name for node in tree.body if isinstance(node, ast.ClassDef))

    def small_modules(self) -> list[str]:
        """Return the paths of modules of up to `SMALL` lines with one importer, which lies beside them."""
        importers: dict[str, set[str]] = {}
        for path, tree in self.modules.items():
            for name in _imported(tree):
                importers.setdefault(name.replace(".", "/") + ".py", set()).add(path)
        return [
            path
            for path in self.modules
            if self._files[path].count("\n") <= SMALL
            and len(others := importers.get(path, set())) == 1
            and PurePosixPath(next(iter(others))).parent == PurePosixPath(path).parent
        ]

    def _constants_and_members(self) -> Iterator[str]:
        """Yield the names of public constants and of the members of public classes."""
        for tree in self.modules.values():
            bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
            for node in (node for body in bodies for node in body):
                targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
                yield from (each.id for each in targets if isinstance(each, ast.Name) and each.id[0] != "_")

    def _tests_of_modules(self, code: list[str]) -> str:
        names = {PurePosixPath(path).stem for path in code}
        tests = [
            PurePosixPath(path).stem.removeprefix("test_")
            for path in self._of("tests/", ".py")
            if PurePosixPath(path).name.startswith("test_")
        ]
        starts = sum(any(test == name or test.startswith(f"{name}_") for name in names) for test in tests)
        return f"{starts / len(tests):.0%}"


def tree_of(commit: str) -> Tree:
    """Return the files of a commit."""
    listed = _git("ls-tree", "-r", "--name-only", commit, "--", "wsnode", "tests").splitlines()
    paths = [path for path in listed if path.endswith((".py", ".rs"))]
    asked = "".join(f"{commit}:{path}\n" for path in paths)
    done = subprocess.run(
        ["git", "cat-file", "--batch"], input=asked.encode(), capture_output=True, check=True
    )
    files, rest = {}, done.stdout
    for path in paths:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[2])
        files[path], rest = rest[:size].decode(), rest[size + 1 :]
    return Tree(files)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _docstrings(tree: ast.Module) -> Iterator[str]:
    """Yield the docstrings of a module and of all in it, those of constants and members too."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield " ".join(node.value.value.split())


def _twice(names: Iterator[str]) -> str:
    counts = Counter(names)
    return f"{sum(count > 1 for count in counts.values())} of {len(counts)}"


def main() -> None:
    """Print the table."""
    commits = sys.argv[1:] or ["HEAD"]
    columns = [dict(tree_of(commit).figures()) for commit in commits]
    print("| |", " | ".join(commits), "|\n|---|" + "---|" * len(commits))
    for name in columns[0]:
        print(f"| {name} |", " | ".join(column[name] for column in columns), "|")


if __name__ == "__main__":
    main()
