"""Limits of a command line replace those of their names in a configuration, and no others."""

from pathlib import Path

import pytest

from wsnode.node.config import ConfigurationError
from wsnode.node.config_file import read
from wsnode.node.config_line import of_folder, overridden

FILE = """
[networks.one]
data = "one"
[limits]
batch_items = 7
calls = 9
logs_results = 11
pool_tip = 13
"""


def test_limits_of_all_parts_replace_those_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "wsnode.toml"
    file.write_text(FILE)
    given = {"batch_items": 70, "drain_seconds": 1.5, "logs_results": 110, "pool_tip": 130}
    config = overridden(read(file), limits=given)
    assert (config.limits.batch_items, config.limits.calls, config.limits.drain_seconds) == (70, 9, 1.5)
    assert (config.call_limits.logs_results, config.pool_limits.tip) == (110, 130)
    assert overridden(read(file), limits={}) == read(file)


@pytest.mark.parametrize("given", [{"batch_items": 0}, {"batch_items": 1.5}, {"batch_itms": 1}])
def test_a_limit_that_is_none_is_refused(given: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=r"^batch_it"):
        overridden(of_folder(Path("one")), limits=given)
