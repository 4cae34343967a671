"""Figures about a tree of sources."""

from tests.docs.tree.figures import Tree

FILES = {
    "wsnode/one/__init__.py": '"""One."""\n',
    "wsnode/one/first.py": """from wsnode.one.second import Both
MAX_BYTES = 1
\'\'\'What is kept of that which comes.\'\'\'
class Both:
    time_limit: int = 2
""",
    "wsnode/one/second.py": "class Both: pass\nclass Other: pass\n",
    "wsnode/native/src/lib.rs": "/// All keys.\nfn keys() {}\npub struct Key;\nmod inner { }\n",
    "wsnode/native/src/other.rs": "enum Key {}\npub(crate) trait Read {}\n",
    "wsnode/native/src/other_tests.rs": "struct Read;\n",
    "tests/one/test_first_things.py": "",
    "tests/one/test_nothing.py": "",
    "tests/docs/test_nothing_else.py": "",
}


def test_names_modules_words_and_comments_are_counted() -> None:
    assert dict(Tree(FILES, ["docs/how-to/nothing.md"]).figures()) == {
        "Python modules": "2",
        "lines of the median module": "4",
        "folders of Python": "1",
        "modules with one importer, beside it, of up to 130 lines": "1",
        "class names that stand twice, of all names": "1 of 2",
        "type names in Rust that stand twice, of all names": "1 of 2",
        "words for a limit in names": "2",
        "docstrings, and doc comments of the crate": "3",
        "of these: two relative clauses": "1",
        "of these: begins with a pronoun": "1",
        "of these: begins without a verb": "1",
        "of these: house word": "0",
        "of these: does not say when it is None": "0",
        "of these: does not say what True means": "0",
        "of these: a time without seconds": "0",
        "lines of Python that are docstrings": "2",
        "test files that name what they test": "2 of 3",
        "lines of Python, of Rust": "7, 6",
    }
