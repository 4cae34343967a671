"""Docstrings and comments of the package and of its crate are read once: plain sentences, verbs first."""

from tests.prose.doc_comments import (
    PRONOUNS,
    VERBS,
    DocComment,
    faults,
    plain_comments,
    python_docs,
    rust_docs,
)


def test_no_comment_is_hard_to_read() -> None:
    assert faults() == []


def test_faults_are_found_in_both_languages() -> None:
    (python,) = python_docs('def f():\n    """What is that which lacks that."""\n', "a.py")
    (rust,) = rust_docs("/// The rows that a block which came has.\npub(crate) fn rows() {}\n", "b.rs")
    assert python.opens_with_pronoun
    assert len(python.nested_sentences) == 1
    assert rust == DocComment("b.rs", "rows", True, "The rows that a block which came has.")
    assert len(rust.nested_sentences) == 1
    assert not rust.opens_with_verb


def test_a_plain_comment_has_no_fault() -> None:
    (doc,) = rust_docs(
        "/// Return the rows that a block has. Keys that `what who` names are 32 bytes.\nfn a() {}\n", "c.rs"
    )
    assert doc.opens_with_verb
    assert doc.nested_sentences == []
    assert PRONOUNS.isdisjoint(VERBS)


def test_house_words_are_found_beside_words_of_the_field() -> None:
    (doc,) = rust_docs(
        "/// Read at once what was told. Most bytes of it. Look-ups look up `gone`.\nfn a() {}\n", "c.rs"
    )
    assert doc.house_words == ["at once", "told", "Most"]


def test_the_shape_of_a_result_is_said() -> None:
    source = """
def a() -> int | None:
    '''Return the number, or None.'''
def b() -> int | None:
    '''Return the number, None if there is none.'''
def c() -> bool:
    '''Return whether it is.'''
def d() -> bool:
    '''Remove it; return True if it was there.'''
def e() -> float:
    '''Return the time of the end.'''
def f() -> float:
    '''Return the time of the end, on trio's clock in seconds.'''
"""
    docs = [*python_docs(source, "d.py")]
    assert [doc.name for doc in docs if doc.hides_none] == ["a"]
    assert [doc.name for doc in docs if doc.hides_true] == ["c"]
    assert [doc.name for doc in docs if doc.hides_seconds] == ["e"]


def test_comments_between_lines_of_code_begin_with_a_noun() -> None:
    source = "a = 1\n# It is what\n# that has told it.\nb = 2  # Its end.\n    # The noun.\n"
    first, second = plain_comments(source, "e.py")
    assert (first.name, first.text) == ("line 2", "It is what that has told it.")
    assert first.opens_with_pronoun
    assert first.house_words == ["told"]
    assert len(first.nested_sentences) == 1
    assert (second.name, second.opens_with_pronoun, second.nested_sentences) == ("line 5", False, [])
    (rust,) = plain_comments("//! It.\n/// It.\n// It.\nfn f() {}\n", "f.rs")
    assert (rust.name, rust.opens_with_pronoun) == ("line 3", True)
