"""The members that no hash covers are those that the documentation names."""

import re
from itertools import pairwise

import pytest

from tests.vector_files import CHECKOUT
from wsnode.starknet.trust import (
    INTERCHANGEABLE_LISTS,
    TRUSTED_MEMBERS,
    describe_trusted_members,
    trusted_members,
)

ROW = re.compile(r"^\| `([^`]+)`([^|]*)\| ([\d.]+|none) \|$", re.MULTILINE)


def test_the_documentation_names_the_trusted_members() -> None:
    page = (CHECKOUT / "docs/reference/starknet.md").read_text()
    section = page.partition("### What a block hash covers")[2].partition("\n## ")[0]
    told = [(member, "none" if version == "none" else version) for member, _, version in ROW.findall(section)]
    assert told == [
        (trusted.member, ".".join(map(str, trusted.before)) if trusted.before else "none")
        for trusted in TRUSTED_MEMBERS
    ]
    for pair in INTERCHANGEABLE_LISTS:
        for name in pair:
            assert name.partition("_")[0] in section, name


def test_a_later_version_covers_more() -> None:
    versions = [(), (0, 7), (0, 11, 1), (0, 13, 2), (0, 13, 4)]
    sets = [set(trusted_members(version)) for version in versions]
    for earlier, later in pairwise(sets):
        assert later < earlier


def test_signatures_of_invoke_were_always_covered() -> None:
    assert "transactions[].transaction.signature" in trusted_members((0, 9), "DECLARE")
    assert "transactions[].transaction.signature" not in trusted_members((0, 9), "INVOKE")


@pytest.mark.parametrize("checks_roots", [True, False])
@pytest.mark.parametrize("has_first_block", [True, False])
def test_the_sentence_names_each_member_and_version(*, checks_roots: bool, has_first_block: bool) -> None:
    text = describe_trusted_members(checks_roots=checks_roots, has_first_block=has_first_block)
    covered = {"state_update.state_diff"} if checks_roots else set()
    covered |= {"state_update.old_root"} if has_first_block else set()
    version: tuple[int, ...] | None = None
    parts = {
        part.split(" ")[1] if part.startswith("before") else None: part for part in text.split("; ")[:-1]
    }
    for trusted in TRUSTED_MEMBERS:
        version = trusted.before
        part = parts[None if version is None else ".".join(map(str, version))]
        assert (re.search(rf"(^|[ ]){re.escape(trusted.member)}(,| of |$)", part) is None) == (
            trusted.member in covered
        )
        for kind in trusted.kinds:
            assert kind in part
    for pair in INTERCHANGEABLE_LISTS:
        assert " or ".join(pair) in text
    assert parts["0.13.2"].endswith(", the transaction of an event")
