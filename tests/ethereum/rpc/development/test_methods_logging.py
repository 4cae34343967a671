"""The switch of what a development chain prints."""

import pytest

from tests.ethereum.development.playground import Playground


@pytest.mark.parametrize(("prefix", "answer"), [("anvil", None), ("hardhat", True)])
def test_printing_is_switched_off_and_on(chain: Playground, prefix: str, answer: bool | None) -> None:
    log = chain.control.log
    for enabled in (False, True):
        assert chain(f"{prefix}_setLoggingEnabled", enabled) is answer
        assert log.enabled is enabled
