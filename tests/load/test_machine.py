"""What the kernel says of a process."""

import os
import time

import pytest

from wsnode.load.machine import cpu_seconds


def test_the_time_of_a_process_is_no_coarser_than_its_own_clock() -> None:
    before = time.process_time()
    found = cpu_seconds(os.getpid())
    assert before < found < time.process_time()


def test_a_process_that_there_is_not_is_an_error() -> None:
    with pytest.raises(OSError):
        cpu_seconds(2**22 + 1)
