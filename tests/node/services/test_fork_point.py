"""The block on which a fork begins, asked of several nodes."""

import pytest

from tests.node_process import kept_address
from wsnode.node.config import ConfigurationError
from wsnode.node.services.fork_point import fork_point


def test_the_next_node_is_asked_where_one_gives_no_answer() -> None:
    with kept_address() as one, kept_address() as two:
        with pytest.raises(ConfigurationError) as raised:
            fork_point([f"http://{one}/", f"http://{two}/"], None)
        assert str(raised.value) == "--fork: " + "; ".join(
            f"http://{nobody}: unreachable" for nobody in (one, two)
        )
