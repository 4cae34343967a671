"""Results as JSON and as JUnit's XML."""

from xml.etree import ElementTree

from wsnode.verify.results import CaseResult, document, junit

RESULTS = [
    CaseResult("get-<balance>", "eth_getBalance", 0.25),
    CaseResult("get-\x00code", "eth_getCode", 0.5, ['FAIL over HTTP: got "0x0" & <more>', "second"]),
    CaseResult("eth_never", "against", 0.0, skipped="one of the nodes does not have the method"),
]


def test_the_json_counts_what_was_compared() -> None:
    told = document(RESULTS)
    assert (told["passed"], told["failed"], told["skipped"]) == (1, 1, 1)
    assert told["results"][1]["failures"] == RESULTS[1].failures


def test_the_xml_is_a_suite_of_cases() -> None:
    (suite,) = ElementTree.fromstring(junit(RESULTS))
    assert suite.attrib == {
        "name": "wsnode verify",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "0.750",
    }
    passed, failed, skipped = suite
    assert passed.attrib == {"classname": "eth_getBalance", "name": "get-<balance>", "time": "0.250"}
    assert list(passed) == []
    (failure,) = failed
    assert failure.get("message") == RESULTS[1].failures[0]
    assert failure.text == "\n".join(RESULTS[1].failures)
    assert skipped[0].get("message") == RESULTS[2].skipped
