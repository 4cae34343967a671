"""Which part of the Rust crate may use which: changing one of these tables is an architecture change.

The sources are read as text, so no built engine is needed.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "wsnode/native/src"
STUBS = Path(__file__).parents[1] / "wsnode/_native"
MAX_MODULES = 16
MAX_LINES = 500

# Each part may use itself and those listed before it. A module belongs to the longest entry that it lies in.
ORDER = (
    "store",
    "trie",
    "state/error",
    "state/layout",
    "state",
    "state/writing",
    "state/proofs",
    "chain/rows",
    "chain/tables",
    "chain/append",
    "chain/tail",
    "error",
    "scoreboard",
    "json",
    "json/blocks",
    "chain/lookup",
    "evm/chain_spec",
    "evm/block",
    "evm/rules",
    "evm/environment",
    "evm/execute",
    "evm/call",
    "evm/live",
    "evm/access_list",
    "evm/build",
    "evm/simulate",
    "evm/dump",
    "evm/sign",
    "pool",
    "engine",
    "evm/trace",
    "evm/witness",
    "wire/parameters",
    "wire/frame",
    "wire/request",
    "wire/native_methods",
    "wire",
    "starknet",
    "beacon",
    "fuzzing",
    "bindings/errors",
    "bindings/numbers",
    "bindings/store",
    "bindings/chain",
    "bindings/evm",
    "bindings/scoreboard",
    "bindings/wire",
    "bindings/starknet",
    "bindings/beacon",
    "bindings",
)
# Modules, and those that they use although the order has them later: none may be added, and one that is gone
# must leave the table.
AGAINST_THE_ORDER = set[tuple[str, str]]()
# Folders with modules that use each other in a circle: likewise.
WITH_CIRCLES = set[str]()

Module = tuple[str, ...]

NOISE = re.compile(r"""//[^\n]*|/\*.*?\*/|\bb?r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^']+|[^\\'])'""", re.S)
VISIBILITY = re.compile(r"\bpub\([^)]*\)")
FOR_TESTS = re.compile(r"#\[cfg\(test\)\]\s*(?:mod \w+ \{.*|(?:pub )?use [^;]+;)", re.S)
FOR_TESTS_AT_END = re.compile(r"#\[cfg\(test\)\]\s*mod \w+ \{.*", re.S)
METHODS = re.compile(r"^#\[pymethods\]\n(.*?)^\}$", re.M | re.S)
DOCUMENTED_FUNCTION = re.compile(r"^///.*\n(?://.*\n)*#\[pyfunction\]", re.M)
USE = re.compile(r"\b(pub\s+)?use\s+([^;]+);")
PATH = re.compile(r"(?<![\w:])[a-z]\w*(?:::\w+)+")


class Crate:
    """The modules of a crate, by their paths without `crate`, and what each one uses."""

    def __init__(self, texts: dict[Module, str]) -> None:
        code = {module: without_noise(text) for module, text in texts.items()}
        self.modules = set(code)
        self._names = {module: dict(self._imports(module, code[module])) for module in code}
        self.uses = {module: set(self._uses(module, code[module])) - {module} for module in code}

    def _imports(self, module: Module, code: str) -> Iterator[tuple[str, Module]]:
        for _, tree in USE.findall(code):
            for path, name in branches(tree):
                if (absolute := self._absolute(module, path)) is not None:
                    yield name, absolute

    def _uses(self, module: Module, code: str) -> Iterator[Module]:
        for public, tree in USE.findall(code):
            for path, _ in branches(tree):
                absolute = self._absolute(module, path)
                # What a folder hands on of its own modules is not a use of them.
                if absolute is not None and not (public and absolute[: len(module)] == module):
                    yield self.home(absolute)
        for text in PATH.findall(USE.sub("", code)):
            first, *rest = text.split("::")
            if (named := self._names[module].get(first)) in self.modules:
                yield self.home((*named, *rest))
            elif (absolute := self._absolute(module, (first, *rest))) is not None:
                yield self.home(absolute)

    def _absolute(self, module: Module, path: Module) -> Module | None:
        """Return a path as seen from the crate, or None if it leads out of it."""
        if path[0] == "crate":
            return path[1:]
        if path[0] in {"self", "super"}:
            ups = path.count("super")
            return module[: len(module) - ups] + tuple(part for part in path if part not in {"self", "super"})
        return module + path if (*module, path[0]) in self.modules else None

    def home(self, path: Module) -> Module:
        """Return the module in which that is defined to which a path leads, through those that hand it on."""
        for length in range(len(path), -1, -1):
            module = path[:length]
            if module in self.modules or not module:
                handed_on = self._names.get(module, {}).get("".join(path[length : length + 1]), path)
                return module if handed_on == path else self.home((*handed_on, *path[length + 1 :]))
        raise AssertionError(path)


def without_noise(text: str) -> str:
    """Return the code without comments, what is quoted, what is only for tests, and how far `pub` reaches."""
    return FOR_TESTS.sub("", VISIBILITY.sub("pub", NOISE.sub('""', text)))


def branches(tree: str) -> Iterator[tuple[Module, str]]:
    """Yield each path of a `use` tree and the name that it gives to what is there."""
    for path in expanded(tree):
        path, _, alias = path.partition(" as ")
        parts = tuple(part.strip() for part in path.split("::") if part.strip() not in {"", "*"})
        if parts[-1] == "self" and len(parts) > 1:
            parts = parts[:-1]
        yield parts, alias.strip() or parts[-1]


def expanded(tree: str) -> list[str]:
    head, brace, rest = tree.partition("{")
    if not brace:
        return [tree.strip()]
    inner, depth, parts = rest[: rest.rindex("}")], 0, [""]
    for character in inner:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [head.strip() + path for part in parts if part.strip() for path in expanded(part)]


def read_sources(folder: Path) -> dict[Module, str]:
    texts = {}
    for path in folder.rglob("*.rs"):
        module = path.relative_to(folder).with_suffix("").parts
        module = module[:-1] if module[-1] in {"mod", "lib"} else module
        if not any(part == "tests" or part.endswith("_tests") for part in module):
            texts[module] = path.read_text()
    return texts


@cache
def crate() -> Crate:
    return Crate(read_sources(SOURCES))


def part_of(module: Module) -> int:
    """Return the place in ORDER of the part that a module belongs to."""
    for length in range(len(module), 0, -1):
        if (name := "/".join(module[:length])) in ORDER:
            return ORDER.index(name)
    raise AssertionError(f"{'::'.join(module)} is in no part of ORDER")


def against_the_order(crate: Crate, module: Module) -> set[tuple[str, str]]:
    above = {used for used in crate.uses[module] if part_of(used) > part_of(module)}
    return {("::".join(module), "::".join(used)) for used in above}


def circle(crate: Crate, folder: Module) -> list[str]:
    """Return modules of a folder that use each other in a circle, each folder in it counted as one."""
    inside = len(folder) + 1
    graph: dict[str, set[str]] = {}
    for module, uses in crate.uses.items():
        if module[: inside - 1] == folder and len(module) >= inside:
            others = {
                used[inside - 1] for used in uses if used[: inside - 1] == folder and len(used) >= inside
            }
            graph.setdefault(module[inside - 1], set()).update(others - {module[inside - 1]})
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


MODULES = sorted(read_sources(SOURCES))
FOLDERS = sorted({module[:-1] for module in MODULES if module})
# Folders whose parts do not follow one another in ORDER.
FACES = [("chain",), ("evm",)]
MEMBERS = [module for module in MODULES if module and module not in FACES]


def test_a_module_uses_only_what_comes_before_its_part() -> None:
    arrows = {arrow for module in MEMBERS for arrow in against_the_order(crate(), module)}
    assert arrows == AGAINST_THE_ORDER


def test_exceptions_are_of_modules_that_there_are_and_every_part_has_modules() -> None:
    assert {name for name, _ in AGAINST_THE_ORDER} <= {"::".join(module) for module in MEMBERS}
    assert {part_of(module) for module in MEMBERS} == set(range(len(ORDER)))


def test_the_face_of_a_folder_with_several_parts_uses_nothing() -> None:
    assert {face: crate().uses[face] for face in FACES if crate().uses[face]} == {}


def test_the_modules_of_a_folder_use_each_other_in_one_direction() -> None:
    assert {"::".join(folder) for folder in FOLDERS[1:] if circle(crate(), folder)} == WITH_CIRCLES


def test_a_folder_has_few_modules() -> None:
    sizes = Counter(module[:-1] for module in MODULES if module)
    assert {folder: size for folder, size in sizes.items() if size > MAX_MODULES} == {}


def test_only_the_bindings_know_python() -> None:
    texts = read_sources(SOURCES)
    knowing = {module[0] for module, text in texts.items() if module and re.search(r"\bpyo3\b", text)}
    assert knowing == {"bindings"}


def test_a_file_is_short() -> None:
    """Check the lines of each file, without tests at its end."""
    texts = {
        "/".join(module): FOR_TESTS_AT_END.sub("", text) for module, text in read_sources(SOURCES).items()
    }
    assert {file: text.count("\n") for file, text in texts.items() if text.count("\n") > MAX_LINES} == {}


def test_a_stub_says_what_each_class_is_and_each_function_returns() -> None:
    for node in (node for path in STUBS.glob("*.pyi") for node in ast.parse(path.read_text()).body):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


def test_only_the_stubs_document_functions_of_the_module() -> None:
    """Check that no fact about a function stands twice, in its stub and in its binding."""
    sources = {str(path): path.read_text() for path in (SOURCES / "bindings").rglob("*.rs")}
    methods = {name: "\n".join(METHODS.findall(text)) for name, text in sources.items()}
    documented = [name for name, text in methods.items() if re.search(r"^ +///", text, re.M)]
    documented += [name for name, text in sources.items() if DOCUMENTED_FUNCTION.search(text)]
    assert documented == []


def test_a_use_against_the_order_is_found_however_it_is_written() -> None:
    face = "mod head; pub use head::Head;"
    for text in (
        "use crate::pool::Head;",
        "use crate::{store, pool::{self as other, Head}};",
        "fn f() -> super::pool::Head {}",
        "use crate::pool;\nfn f() { pool::Head::new() }",
        "pub(crate) use crate::pool::head;",
    ):
        uses = Crate({("pool",): face, ("pool", "head"): "", ("trie",): text, ("store",): ""})
        assert against_the_order(uses, ("trie",)) >= {("trie", "pool::head")}, text


def test_what_is_no_use_is_not_taken_for_one() -> None:
    text = """
    // crate::pool
    use std::fmt; use crate::store::{Table};
    pub(in crate::pool) fn f<'a>(x: &'a u8) -> &'a str { "use crate::pool;" }
    #[cfg(test)]
    mod tests { use crate::pool::Head; }
    """
    uses = Crate({("pool",): "", ("trie",): text, ("store",): "mod a; pub use a::Table;", ("store", "a"): ""})
    assert uses.uses[("trie",)] == {("store", "a")}
    assert uses.uses[("store",)] == set()


def test_a_circle_of_modules_is_found() -> None:
    texts = {("a",): "", ("a", "b"): "use super::c::C;", ("a", "c"): "", ("a", "c", "d"): "use crate::a::b;"}
    assert set(circle(Crate(texts), ("a",))) == {"b", "c"}
    assert not circle(Crate(texts | {("a", "c", "d"): ""}), ("a",))
