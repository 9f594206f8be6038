"""Faults by what was measured: budgets, the wall clock as a backstop, crashes and kills."""

from __future__ import annotations

import signal
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.outcome import Ending, failure_of
from tests.sandbox.samples import budget

BUDGET = budget(cpu_seconds=100)
FINE = Ending(True, 0, None, None, 5.0, 10.0, 1 << 20, 0)
CUT = replace(FINE, complete=False)
LATE = replace(CUT, exit_code=None, signal=9, stopped_for="wall")


def test_orderly_end_is_no_failure() -> None:
    assert failure_of(FINE, BUDGET) is None


CASES = {
    "oom_counter": (replace(CUT, exit_code=None, signal=9, oom_kills=1), "memory_exceeded", "candidate"),
    "oom_of_a_child": (replace(CUT, exit_code=1, oom_kills=2), "memory_exceeded", "candidate"),
    "memory_seen": (replace(CUT, exit_code=None, signal=9, stopped_for="memory"), "memory_exceeded", "candidate"),
    "sigxcpu": (replace(CUT, exit_code=None, signal=signal.SIGXCPU), "cpu_exceeded", "candidate"),
    "cpu_seen": (replace(CUT, exit_code=None, signal=9, stopped_for="cpu"), "cpu_exceeded", "candidate"),
    "hard_cpu_limit": (replace(CUT, exit_code=None, signal=9, cpu_seconds=96.0), "cpu_exceeded", "candidate"),
    "sigxfsz": (replace(CUT, exit_code=None, signal=signal.SIGXFSZ), "disk_exceeded", "candidate"),
    "wall_and_busy": (replace(LATE, cpu_seconds=50.0), "wall_exceeded", "candidate"),
    "wall_and_idle": (replace(LATE, cpu_seconds=49.9), "stalled", "infrastructure"),
    "wall_and_unknown": (replace(LATE, cpu_seconds=None), "stalled", "infrastructure"),
    "unexplained_kill": (replace(CUT, exit_code=None, signal=9), "killed", "infrastructure"),
    "terminated": (replace(CUT, exit_code=None, signal=signal.SIGTERM), "killed", "infrastructure"),
    "lost": (replace(CUT, exit_code=None), "sandbox_lost", "infrastructure"),
    "segfault": (replace(CUT, exit_code=None, signal=signal.SIGSEGV), "renderer_crashed", "candidate"),
    "abort": (replace(CUT, exit_code=None, signal=signal.SIGABRT), "renderer_crashed", "candidate"),
    "odd_signal": (replace(CUT, exit_code=None, signal=99), "renderer_crashed", "candidate"),
    "traceback": (replace(CUT, exit_code=1), "renderer_failed", "candidate"),
    "silence": (CUT, "renderer_stopped", "candidate"),
    "crash_after_the_end": (replace(FINE, exit_code=None, signal=signal.SIGSEGV), "renderer_crashed", "candidate"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_ending_has_its_code_and_fault(name: str) -> None:
    ending, code, fault = CASES[name]
    failure = failure_of(ending, BUDGET)
    assert failure is not None
    assert (failure.code, failure.fault) == (code, fault)
    assert failure.retry == (fault == "infrastructure")
    assert failure.confirm == code.startswith("renderer_")


endings = st.builds(
    Ending,
    complete=st.booleans(),
    exit_code=st.none() | st.integers(0, 255),
    signal=st.none() | st.integers(1, 64),
    stopped_for=st.sampled_from([None, "wall", "cpu", "memory"]),
    wall_seconds=st.floats(0, 1000),
    cpu_seconds=st.none() | st.floats(0, 1000),
    peak_memory_bytes=st.none() | st.integers(0, 1 << 40),
    oom_kills=st.none() | st.integers(0, 3),
)


@given(endings)
def test_only_an_orderly_end_counts(ending: Ending) -> None:
    orderly = ending.complete and ending.exit_code == 0 and ending.stopped_for is None
    assert (failure_of(ending, BUDGET) is None) == orderly


@given(endings.filter(lambda ending: (ending.cpu_seconds or 0) < 50 and not ending.oom_kills))
def test_an_idle_run_that_was_stopped_by_the_clock_is_never_the_candidates_fault(ending: Ending) -> None:
    failure = failure_of(replace(ending, stopped_for="wall", signal=9, exit_code=None), BUDGET)
    assert failure is not None
    assert failure.fault == "infrastructure"
