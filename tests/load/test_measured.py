"""Results of long runs."""

from wsnode.load.measured import Measurement


def test_joined_slices_hold_all_replies() -> None:
    measured = Measurement(slice_seconds=0.5)
    for number in range(10):
        measured.add("eth_chainId", 0.01, "no" if number == 9 else None, at=number * 0.5)
    measured.join_slices()
    assert measured.slice_seconds == 1.0
    assert {number: len(piece.latencies) for number, piece in measured.slices.items()} == dict.fromkeys(
        range(5), 2
    )
    assert measured.slices[4].errors == 1


def test_a_later_run_is_left_as_it_is() -> None:
    whole, later = Measurement(slice_seconds=1.0), Measurement(seconds=2.0, slice_seconds=1.0)
    later.add("eth_chainId", 0.01, None, at=0.5)
    for _ in range(2):
        whole.follow(later)
    assert sorted(whole.slices) == [0, 2]
    assert sorted(later.slices) == [0]
