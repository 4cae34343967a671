import pytest
from hypothesis import given
from hypothesis import strategies as st

from wsnode.ethereum.codec.rlp import Item, encode, encoded_items

items: st.SearchStrategy[Item] = st.recursive(
    st.binary(max_size=70), lambda inner: st.lists(inner, max_size=6), max_leaves=30
)


@pytest.mark.slow
@given(st.lists(items, max_size=8))
def test_an_encoded_list_comes_apart_into_its_encoded_items(content: list[Item]) -> None:
    assert encoded_items(encode(content)) == list(map(encode, content))
