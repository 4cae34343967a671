"""How easy is the tree to read, by figures, and how easy was it at earlier commits?

    python -m tests.docs.tree.figures [COMMIT …]

A table with a column a commit, HEAD alone if none is given: names that two classes share, modules and
folders, words for a limit, lines, and docstrings and doc comments that are hard to read.
"""

import ast
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import PurePosixPath
from statistics import median

from tests.prose.doc_comments import FAULTS, DocComment, python_docs, rust_docs

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
OTHERS = ("bench", "deploy", "docs")
"""Folders of tests that have the names of folders beside the package."""


class Tree:
    """Files at a commit: the texts of those of `wsnode` and `tests`, and the names of all."""

    def __init__(self, files: Mapping[str, str], names: Iterable[str] = ()) -> None:
        self._files = files
        self._names = [*files, *names]

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
        docs = list(self._doc_comments())
        yield "docstrings, and doc comments of the crate", f"{len(docs):,}"
        for fault, is_there in FAULTS.items():
            yield f"of these: {fault}", str(sum(map(is_there, docs)))
        yield "lines of Python that are docstrings", f"{sum(map(_docstring_lines, self.modules.values())):,}"
        yield "test files that name what they test", self._tests_of_modules()
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

    def _doc_comments(self) -> Iterator[DocComment]:
        for path in self._of("wsnode/", ".py"):
            yield from python_docs(self._files[path], path)
        for path in self._of("wsnode/native/src/", ".rs"):
            yield from rust_docs(self._files[path], path)

    def _tests_of_modules(self) -> str:
        tests = [path for path in self._of("tests/", ".py") if PurePosixPath(path).name.startswith("test_")]
        named = sum(self._names_what_it_tests(PurePosixPath(path)) for path in tests)
        return f"{named} of {len(tests)}"

    def _names_what_it_tests(self, test: PurePosixPath) -> bool:
        """Return True if a test file's name begins with a name of the folder that its own folder mirrors.

        Such are modules and folders of the package, modules beside the test, and pages, scripts of `bench`
        and files of `deploy`.
        """
        folder, area = "wsnode" / test.parent.relative_to("tests"), test.parts[1]
        beside = [*self._folders.get(folder, ()), *self._grandchildren.get(folder, ())]
        beside += [path for path in self._folders[test.parent] if not path.name.startswith("test_")]
        if area in OTHERS:
            beside += [path for path in self._paths if path.parts[0] == area or path.suffix == ".md"]
        names = {name for path in beside for name in (path.stem, path.parent.name)} | {folder.name}
        subject = test.stem.removeprefix("test_")
        plain = {name.lower().replace("-", "_") for name in names}
        return any(subject == name or subject.startswith(f"{name}_") for name in plain)

    @cached_property
    def _paths(self) -> list[PurePosixPath]:
        return [PurePosixPath(name) for name in self._names]

    @cached_property
    def _folders(self) -> Mapping[PurePosixPath, list[PurePosixPath]]:
        """Files by their folder."""
        return _grouped(self._paths, lambda path: path.parent)

    @cached_property
    def _grandchildren(self) -> Mapping[PurePosixPath, list[PurePosixPath]]:
        """Files by the folder of their folder."""
        return _grouped(self._paths, lambda path: path.parent.parent)


def _grouped(
    paths: list[PurePosixPath], folder_of: Callable[[PurePosixPath], PurePosixPath]
) -> dict[PurePosixPath, list[PurePosixPath]]:
    found: dict[PurePosixPath, list[PurePosixPath]] = {}
    for path in paths:
        found.setdefault(folder_of(path), []).append(path)
    return found


def tree_of(commit: str) -> Tree:
    """Return the files of a commit."""
    names = _git("ls-tree", "-r", "--name-only", commit).splitlines()
    paths = [
        path for path in names if path.startswith(("wsnode/", "tests/")) and path.endswith((".py", ".rs"))
    ]
    asked = "".join(f"{commit}:{path}\n" for path in paths)
    done = subprocess.run(
        ["git", "cat-file", "--batch"], input=asked.encode(), capture_output=True, check=True
    )
    files, rest = {}, done.stdout
    for path in paths:
        head, _, rest = rest.partition(b"\n")
        size = int(head.split()[2])
        files[path], rest = rest[:size].decode(), rest[size + 1 :]
    return Tree(files, names)


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def _imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _docstring_lines(tree: ast.Module) -> int:
    """Return the number of lines of the docstrings in a module, those of constants and members too."""
    return sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


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
