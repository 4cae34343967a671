"""The times of blocks, on a clock that tests set."""

from itertools import pairwise

import pytest

from tests.ethereum.development.playground import GENESIS_TIME, STRANGER, Playground, RefusedError
from wsnode.ethereum.development.clock import BlockClock
from wsnode.ethereum.development.control import ControlError

NOW = 1_800_000_000


def test_a_block_has_the_time_of_the_world_and_is_later_than_its_parent() -> None:
    clock = BlockClock(lambda: NOW + 0.9)
    assert clock.take(NOW - 100) == NOW
    assert clock.take(NOW) == NOW + 1
    assert clock.take(NOW + 500) == NOW + 501


def test_time_goes_on_from_where_it_was_set() -> None:
    now = NOW
    clock = BlockClock(lambda: now)
    assert clock.increase(60) == 60
    assert clock.take(0) == NOW + 60
    clock.set_next(NOW + 1000, parent=NOW + 60)
    assert clock.take(NOW + 60) == NOW + 1000
    now += 5
    assert clock.take(NOW + 1000) == NOW + 1005
    assert clock.set(NOW + 1010) == 5
    assert clock.set(NOW, parent=NOW) == -1010
    assert clock.take(NOW - 1) == NOW


def test_blocks_of_an_interval_take_no_notice_of_the_world() -> None:
    clock = BlockClock(lambda: NOW)
    clock.set_interval(7)
    assert [clock.take(100), clock.take(107)] == [107, 114]
    clock.set_interval(None)
    assert clock.take(114) == NOW


def test_a_time_that_is_not_later_is_refused() -> None:
    clock = BlockClock(lambda: NOW)
    with pytest.raises(ControlError, match=f"{NOW} is lower than or equal to previous block's timestamp"):
        clock.set_next(NOW, parent=NOW)
    with pytest.raises(ControlError, match=f"{NOW - 1} is lower than previous block's timestamp {NOW}"):
        clock.set(NOW - 1, parent=NOW)
    with pytest.raises(ControlError, match="at least 1 second"):
        clock.set_interval(0)
    assert clock.take(NOW) == NOW + 1


def test_times_end_before_the_numbers_do(chain: Playground) -> None:
    for method in ("evm_increaseTime", "evm_setNextBlockTimestamp", "evm_mine"):
        with pytest.raises(RefusedError, match="The timestamp is too big") as refused:
            chain(method, 2**63)
        assert refused.value.code == -32602
    with pytest.raises(RefusedError, match="The timestamp is too big"):
        chain("anvil_mine", 2, 2**64 - 1)
    chain("anvil_setBlockTimestampInterval", 2**64 - 1)
    chain("anvil_mine", 2)
    assert [chain.time(number) for number in (1, 2)] == [2**63 - 1, 2**63]
    chain.send()
    chain("eth_getBlockByNumber", "pending", False)
    assert chain.head == 3


def test_the_next_block_has_exactly_the_time_it_is_given(chain: Playground) -> None:
    wanted = GENESIS_TIME + 10**8
    assert chain("evm_setNextBlockTimestamp", wanted) is None
    chain("evm_mine")
    assert chain.time() == wanted
    for form in (wanted + 10, str(wanted + 20), hex(wanted + 30)):
        chain("evm_setNextBlockTimestamp", form)
        chain("evm_mine")
    assert [chain.time(number) - wanted for number in (2, 3, 4)] == [10, 20, 30]
    with pytest.raises(RefusedError, match="Timestamp error"):
        chain("evm_setNextBlockTimestamp", wanted)


@pytest.mark.parametrize("form", [lambda time: time, hex, lambda time: {"timestamp": time, "blocks": 2}])
def test_evm_mine_sets_the_time_of_the_first_block(form: object, chain: Playground) -> None:
    wanted = GENESIS_TIME + 10**8
    assert callable(form)
    chain("evm_mine", form(wanted))
    assert chain.time(1) == wanted
    with pytest.raises(RefusedError, match="Timestamp error"):
        chain("evm_mine", {"timestamp": wanted - 1})


@pytest.mark.parametrize("method", ["evm_mine", "evm_mine_detailed", "anvil_mine_detailed"])
def test_options_of_mining_may_be_sent_by_themselves(method: str, chain: Playground) -> None:
    wanted = GENESIS_TIME + 10**8
    assert "result" in chain.ask(method, {"timestamp": wanted, "blocks": 2})
    assert (chain.head, chain.time(1)) == (2, wanted)
    assert "unknown member time" in chain.ask(method, {"time": wanted})["error"]["message"]


def test_seconds_pass_at_once(chain: Playground) -> None:
    chain("evm_mine")
    before = chain.time()
    assert chain("evm_increaseTime", 3600) == 3600
    assert chain("evm_increaseTime", "0xe10") == 7200
    chain("evm_mine")
    assert 7200 <= chain.time() - before < 7300


def test_many_blocks_have_the_interval_between_them(chain: Playground) -> None:
    chain("anvil_mine", 4, 60)
    times = [chain.time(number) for number in (1, 2, 3, 4)]
    assert all(60 <= later - earlier <= 70 for earlier, later in pairwise(times))


def test_a_fixed_interval_is_kept_until_it_is_removed(chain: Playground) -> None:
    chain("evm_mine")
    chain("anvil_setBlockTimestampInterval", 7)
    chain("anvil_mine", 2)
    assert [chain.time(number) - chain.time(1) for number in (2, 3)] == [7, 14]
    assert chain("anvil_removeBlockTimestampInterval") is True
    assert chain("anvil_removeBlockTimestampInterval") is False


def test_the_clock_can_be_set(chain: Playground) -> None:
    ahead = chain("evm_setTime", chain.time() + 10**9)
    assert ahead > 0
    chain("evm_mine")
    assert chain.time() - GENESIS_TIME >= 10**9


@pytest.mark.parametrize("method", ["evm_setTime", "anvil_setTime"])
def test_a_time_that_cannot_be_in_seconds_is_in_milliseconds(method: str, chain: Playground) -> None:
    wanted = chain.time() + 10**8
    for form in (wanted * 1000 + 999, hex((wanted + 10**7) * 1000), str((wanted + 2 * 10**7) * 1000)):
        chain(method, form)
        chain("evm_mine")
    times = [chain.time(number) - wanted for number in (1, 2, 3)]
    assert all(
        0 <= time - expected < 100 for time, expected in zip(times, (0, 10**7, 2 * 10**7), strict=True)
    )
    chain(method, 10**12)
    chain("evm_mine")
    assert 0 <= chain.time() - 10**12 < 100


@pytest.mark.parametrize("method", ["evm_setTime", "anvil_setTime"])
def test_time_does_not_go_back_behind_the_head_and_it_is_said_why(method: str, chain: Playground) -> None:
    chain("evm_increaseTime", 1000)
    chain("evm_mine")
    before, reason = chain.time(), "as on every verified chain, a block is later than its parent"
    for params in ([5], [before - 1], [(before - 1) * 1000]):
        error = chain.ask(method, params)["error"]
        assert (error["code"], reason in error["message"]) == (-32602, True), error
    # Not behind the head, but back.
    assert chain(method, before) == 0
    chain("evm_mine")
    assert before < chain.time() < before + 100
    for other, params in (
        ("evm_setNextBlockTimestamp", [before]),
        ("evm_mine", [before]),
        ("anvil_setBlockTimestampInterval", [0]),
    ):
        error = chain.ask(other, params)["error"]
        assert (error["code"], reason in error["message"]) == (-32602, True), error


def test_calls_in_the_block_to_come_see_its_time(chain: Playground) -> None:
    chain("anvil_setCode", STRANGER, "0x4260005260206000f3")  # returns the time
    call = {"to": STRANGER}
    chain("evm_mine")
    chain("evm_increaseTime", 10**6)
    assert int(chain("eth_call", call, "latest"), 16) == chain.time()
    assert 0 <= int(chain("eth_call", call, "pending"), 16) - chain.time() - 10**6 < 100
    chain("evm_setNextBlockTimestamp", chain.time() + 7)
    assert int(chain("eth_call", call, "pending"), 16) == chain.time() + 7
    assert int(chain("eth_call", call, "pending", {}, {"time": "0x5"}), 16) == 5
    assert int(chain("eth_call", call, "pending", {}, {"number": "0x5"}), 16) == chain.time() + 7
    assert int(chain("eth_estimateGas", call, "pending"), 16) > 21_000
    chain("evm_setTime", chain.time())
    assert 0 < int(chain("eth_call", call, "pending"), 16) - chain.time() < 100


@pytest.mark.parametrize("method", ["evm_increaseTime", "anvil_increaseTime"])
def test_time_goes_forward_from_a_head_that_is_ahead_of_the_world(chain: Playground, method: str) -> None:
    # Many blocks in one second.
    chain("anvil_mine", 100)
    ahead = chain.time()
    seconds = chain(method, 60)
    chain("evm_mine")
    assert ahead + 60 <= chain.time() <= ahead + 62
    assert seconds >= 60
    chain(method, 0)
    chain("hardhat_mine", 3, 60)
    assert ahead + 4 * 60 <= chain.time() <= ahead + 4 * 60 + 6
