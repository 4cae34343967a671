"""The table of the log has the lines that the code writes."""

import ast

import pytest

from tests.docs.generated.log_events import LEVELS, log_events
from tests.server.observability.test_logs_fields import trees

pytestmark = pytest.mark.slow


def test_the_lines_are_those_of_all_loggers_of_the_package() -> None:
    calls = (node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.Call))
    made = {
        str(call.args[0].value)
        for call in calls
        if isinstance(call.func, ast.Attribute) and call.func.attr == "getLogger"
        if isinstance(call.args[0], ast.Constant) and str(call.args[0].value).startswith("wsnode.")
    }
    found = {each.logger for each in log_events()}
    # The lines of these have a text from elsewhere: of an upstream, of a library.
    assert made - found == {"wsnode.ipc", "wsnode.proofs", "wsnode.server.frames"}
    assert found <= made


def test_a_line_has_a_level_and_a_text_with_its_values_left_out() -> None:
    assert {each.level for each in log_events()} <= set(LEVELS.values())
    texts = {(each.logger, each.level): each.text for each in log_events()}
    assert texts["wsnode.slow", "warning"] == "… took … s"
    assert not any("%" in each.text for each in log_events())
