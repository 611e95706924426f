"""Daemon threads that an interrupted caller does not wait for."""

import threading
import time

import pytest

from backend.datasets.safe_files.daemon_pool import DaemonPool, result_of
from tests.fixtures.interrupting import Hanging


def test_results_are_yielded_in_order_as_soon_as_available() -> None:
    hold = threading.Event()

    def square(number: int) -> int:
        assert number != 2 or hold.wait(250)
        return number**2

    with DaemonPool(4) as pool:
        results = pool.map_in_order(square, range(4))
        assert [next(results), next(results)] == [0, 1], "the third is not finished yet"
        hold.set()
        assert list(results) == [4, 9]


def test_an_error_is_raised_in_order_after_running_work_has_finished() -> None:
    begun, hold = threading.Event(), threading.Event()
    calls: list[str] = []

    def work(name: str) -> str:
        calls.append(name)
        if name == "bad":
            assert begun.wait(250)
            hold.set()
            raise OSError("the disk is full")
        if name == "slow":
            begun.set()
            assert hold.wait(250)
            calls.append("slow is done")
        if name == "later":
            time.sleep(0.01)
        return name

    with DaemonPool(2) as pool, pytest.raises(OSError, match="full"):
        list(pool.map_in_order(work, ["bad", "slow", *["later"] * 5000]))
    assert "slow is done" in calls
    assert calls.count("later") < 5000


class Odd(BaseException):
    pass


@pytest.mark.parametrize("problem", [Odd, TimeoutError])
def test_an_error_of_any_type_reaches_the_caller(problem: type[BaseException]) -> None:
    def fail() -> None:
        raise problem("the work's own")

    with DaemonPool(1) as pool, pytest.raises(problem, match="the work's own"):
        result_of(pool.submit(fail))


def test_an_interrupted_caller_does_not_wait_for_running_work(hanging: Hanging) -> None:
    def work() -> None:
        with DaemonPool(1) as pool:
            list(pool.map_in_order(hanging, range(3)))

    with pytest.raises(KeyboardInterrupt):
        work()
    assert not hanging.is_done
