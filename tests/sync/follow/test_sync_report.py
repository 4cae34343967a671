"""The lines about how following goes."""

from wsnode.sync.follow.sync_report import BRIEF_SECONDS, SyncStage, SyncStageLog


def said(*changes: tuple[float, SyncStage]) -> list[tuple[float, SyncStage]]:
    log = SyncStageLog()
    return [(when, stage) for when, stage in changes if log.says(stage, when)]


def test_a_chain_that_is_left_and_reached_again_has_a_line_now_and_then() -> None:
    stages = (SyncStage.CATCHING_UP, SyncStage.LIVE)
    changes = [(number / 4, stages[number % 2]) for number in range(400)]
    lines = said(*changes)
    assert len(lines) <= 2 * (100 / BRIEF_SECONDS + 1)
    assert lines[-1][1] is SyncStage.LIVE


def test_stages_that_last_are_all_said() -> None:
    changes = [
        (0.0, SyncStage.CATCHING_UP),
        (5.0, SyncStage.LIVE),
        (5.0 + BRIEF_SECONDS, SyncStage.CATCHING_UP),
        (30.0, SyncStage.LIVE),
        (31.0, SyncStage.CONNECTING),
        (31.5, SyncStage.CATCHING_UP),
        (32.0, SyncStage.LIVE),
    ]
    assert said(*changes) == changes
