"""Bloom filters never hide an event, and show few that are not there."""

from hypothesis import given
from hypothesis import strategies as st

from wsnode.starknet.storage.event_bloom import BloomCriteria, address_item, bloom_of, key_item

items = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.sets(items, max_size=60), st.lists(st.sets(items, min_size=1, max_size=4), max_size=3))
def test_what_a_block_has_is_never_hidden(there: set[str], groups: list[set[str]]) -> None:
    bloom = bloom_of(there)
    assert BloomCriteria([{item, *others} for item, others in zip(there, groups, strict=False)]).may_match(
        bloom
    )


def test_few_blocks_seem_to_have_what_they_lack() -> None:
    blooms = [bloom_of(key_item(0, hex(1000 * block + key)) for key in range(100)) for block in range(100)]
    wanted = BloomCriteria([[key_item(0, hex(1000 * 200 + 1))]])
    assert sum(map(wanted.may_match, blooms)) <= 5


def test_every_group_must_have_one_of_its_items() -> None:
    bloom = bloom_of([address_item("0x1"), key_item(0, "0x2")])
    assert BloomCriteria([]).may_match(bloom)
    assert BloomCriteria([[address_item("0x1"), address_item("0x5")], [key_item(0, "0x2")]]).may_match(bloom)
    assert not BloomCriteria([[address_item("0x1")], [key_item(1, "0x2")]]).may_match(bloom)
    assert not BloomCriteria([[key_item(0, "0x1")]]).may_match(bloom)


def test_a_block_without_events_has_a_small_filter() -> None:
    assert bloom_of([]) == bytes(8)
    assert not BloomCriteria([[address_item("0x1")]]).may_match(bytes(8))


def test_the_form_of_stored_filters_does_not_change() -> None:
    bloom = bloom_of(["a0x1", "00x2", "f0x3", *(f"1{number:#x}" for number in range(10))])
    assert bloom.hex() == "a4228819c1190b5148102528028803c67210e42c2408441580820566e211f001"
