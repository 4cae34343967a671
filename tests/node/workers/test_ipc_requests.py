"""Questions of one process to another: here both are tasks, and the clock is the tests'."""

import trio
import trio.testing

from wsnode.node.workers.ipc import PendingRequests


async def test_each_question_gets_its_own_answer(autojump_clock: trio.testing.MockClock) -> None:
    questions, posted = PendingRequests[str](), list[int]()
    answers: dict[str, str | None] = {}

    async def ask(name: str) -> None:
        answers[name] = await questions.ask(posted.append, 1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask, "first")
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(ask, "second")
        await trio.testing.wait_all_tasks_blocked()
        questions.answer(posted[1], "of the second")
        questions.answer(posted[0], "of the first")
    assert answers == {"first": "of the first", "second": "of the second"}


async def test_an_answer_that_comes_too_late_is_dropped(autojump_clock: trio.testing.MockClock) -> None:
    questions, posted = PendingRequests[str](), list[int]()
    assert await questions.ask(posted.append, 1) is None
    assert trio.current_time() == 1
    questions.answer(posted[0], "late")

    def post(number: int) -> None:
        posted.append(number)
        questions.answer(number, "at once")

    assert await questions.ask(post, 1) == "at once"
