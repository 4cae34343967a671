"""What the kernel says of a process and of those that it has started."""

import os
import subprocess
import sys
import threading
import time

import pytest

from wsnode.load.machine import children_of, cpu_seconds, oldest_first


def test_the_time_of_a_process_is_no_coarser_than_its_own_clock() -> None:
    before = time.process_time()
    found = cpu_seconds(os.getpid())
    assert before < found < time.process_time()


def test_a_process_that_there_is_not_is_an_error() -> None:
    for asked in (cpu_seconds, children_of):
        with pytest.raises(OSError):
            asked(2**22 + 1)


def test_children_are_found_while_threads_come_and_go() -> None:
    threads_end = "import threading\nwhile True: threading.Thread(target=int).start()"
    with subprocess.Popen([sys.executable, "-c", threads_end]) as busy:
        try:
            assert all(children_of(busy.pid) == [] for _ in range(1000))
            assert busy.pid in children_of(os.getpid())
        finally:
            busy.kill()


def test_a_child_belongs_to_the_process_after_the_thread_that_started_it() -> None:
    children = list[subprocess.Popen[bytes]]()
    command = [sys.executable, "-c", "input()"]
    thread = threading.Thread(
        target=lambda: children.append(subprocess.Popen(command, stdin=subprocess.PIPE))
    )
    thread.start()
    thread.join()
    with children[0] as child:
        assert child.pid in children_of(os.getpid())
        child.communicate(b"\n")


def test_processes_are_in_the_order_of_their_start_also_after_the_largest_id_was_given() -> None:
    # As proc_pid_stat(5) has it: the 22nd field is the time of the start, and a name may have spaces.
    stats = [
        f"{process} ({name}) S {' '.join(['1'] * 18)} {began} 5000 20"
        for process, name, began in ((310, "python3", 905), (32766, "a) b (c", 900), (311, "python3", 905))
    ]
    assert oldest_first(stats) == [32766, 310, 311]
