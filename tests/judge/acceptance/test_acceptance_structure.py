"""Cancellation, timeouts and failures: at once, unchanged, and nothing is left running (see ``run``)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from judge.acceptance import EvaluatorRequest, ImageReference, create_judge
from tests.judge.acceptance.acceptance_kit import Access, Inspector, available, judge, request_json, run, unavailable


class Log:
    """What the ports went through."""

    def __init__(self) -> None:
        self.started = asyncio.Event()
        self.cancelled: list[str] = []
        self.stops: list[asyncio.Event] = []

    async def hang(self, name: str, cancel: asyncio.Event) -> Any:
        self.stops.append(cancel)
        self.started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            assert cancel.is_set()  # a thread that the exception cannot reach is told before
            self.cancelled.append(name)
            await asyncio.sleep(0)  # a port may clean up
            raise


class HangingAccess(Access):
    def __init__(self, log: Log, *hanging: str) -> None:
        super().__init__()
        self.log = log
        self.hanging = hanging

    async def resolve(self, reference: ImageReference, *, role: str, cancel: asyncio.Event) -> Any:
        if reference.id in self.hanging:
            self.asked.append((reference.id, role))
            return await self.log.hang(reference.id, cancel)
        return await super().resolve(reference, role=role, cancel=cancel)


class HangingInspector(Inspector):
    def __init__(self, log: Log) -> None:
        super().__init__()
        self.log = log

    async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> Any:
        self.calls.append(request)
        return await self.log.hang("evaluator", cancel)


def _evidence_hangs(log: Log) -> tuple[Access, Inspector]:
    return HangingAccess(log, "style", "back-1"), Inspector()


def _evaluator_hangs(log: Log) -> tuple[Access, Inspector]:
    return Access(), HangingInspector(log)


PLACES = [(_evidence_hangs, ["style", "back-1"]), (_evaluator_hangs, ["evaluator"])]
Hangs = Callable[[Log], tuple[Access, Inspector]]


@pytest.mark.parametrize(("hangs", "names"), PLACES, ids=["evidence", "evaluator"])
def test_cancelling_the_task_ends_every_port(hangs: Hangs, names: list[str]) -> None:
    async def whole() -> None:
        log = Log()
        access, inspector = hangs(log)
        made = create_judge(evaluator=inspector, evidence_access=access)
        task = asyncio.create_task(made.judge(request_json()))
        await log.started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert log.cancelled == names
        assert all(stop.is_set() for stop in log.stops)
        assert len(inspector.calls) == (names == ["evaluator"])

    run(whole())


@pytest.mark.parametrize(("hangs", "names"), PLACES, ids=["evidence", "evaluator"])
def test_the_callers_cancel_ends_every_port(hangs: Hangs, names: list[str]) -> None:
    async def whole() -> None:
        log, cancel = Log(), asyncio.Event()
        access, inspector = hangs(log)
        made = create_judge(evaluator=inspector, evidence_access=access)
        task = asyncio.create_task(made.judge(request_json(), cancel=cancel))
        await log.started.wait()
        assert not log.stops[0].is_set()
        cancel.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert log.cancelled == names

    run(whole())


@pytest.mark.parametrize(("hangs", "names"), PLACES, ids=["evidence", "evaluator"])
def test_a_timeout_ends_every_port(hangs: Hangs, names: list[str]) -> None:
    async def whole() -> None:
        log = Log()
        access, inspector = hangs(log)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await create_judge(evaluator=inspector, evidence_access=access).judge(request_json())
        assert log.cancelled == names

    run(whole())


def test_a_cancel_that_is_set_already_asks_no_port() -> None:
    async def whole() -> None:
        access, inspector, cancel = Access(), Inspector(), asyncio.Event()
        cancel.set()
        with pytest.raises(asyncio.CancelledError):
            await create_judge(evaluator=inspector, evidence_access=access).judge(request_json(), cancel=cancel)
        assert access.asked == []
        assert inspector.calls == []

    run(whole())


def test_a_cancel_between_evidence_and_evaluation_asks_no_evaluator() -> None:
    async def whole() -> None:
        inspector, cancel = Inspector(), asyncio.Event()

        class Last(Access):
            async def resolve(self, reference: ImageReference, *, role: str, cancel: asyncio.Event) -> Any:
                if reference.id == "back-1":
                    asyncio.get_running_loop().call_soon(end.set)
                return await super().resolve(reference, role=role, cancel=cancel)

        end = cancel
        with pytest.raises(asyncio.CancelledError):
            await create_judge(evaluator=inspector, evidence_access=Last()).judge(request_json(), cancel=cancel)
        assert inspector.calls == []

    run(whole())


def test_a_cancel_while_evidence_is_verified_yields_no_report() -> None:
    cancel = asyncio.Event()

    class Cancelling(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            cancel.set()
            return super().get(key, default)

    async def whole() -> None:
        access = Access(style=Cancelling(available("style")), back_1=unavailable("back-1"))
        with pytest.raises(asyncio.CancelledError):
            await create_judge(evaluator=Inspector(), evidence_access=access).judge(request_json(), cancel=cancel)

    run(whole())


def test_a_failing_port_ends_the_others_and_its_exception_is_the_very_one() -> None:
    async def whole() -> None:
        log, failure = Log(), PermissionError("not this tenant's image")

        class Refusing(HangingAccess):
            async def resolve(self, reference: ImageReference, *, role: str, cancel: asyncio.Event) -> Any:
                if reference.id == "front-1":
                    await self.log.started.wait()
                    raise failure
                return await super().resolve(reference, role=role, cancel=cancel)

        inspector = Inspector()
        with pytest.raises(PermissionError) as caught:
            await create_judge(evaluator=inspector, evidence_access=Refusing(log, "truth", "style")).judge(
                request_json()
            )
        assert caught.value is failure
        assert log.cancelled == ["truth", "style"]
        assert inspector.calls == []

    run(whole())


@pytest.mark.parametrize("failure", [RuntimeError("x"), asyncio.CancelledError(), TimeoutError("provider")], ids=repr)
def test_what_an_evaluator_raises_propagates_unchanged(failure: BaseException) -> None:
    class Raising(Inspector):
        async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> Any:
            self.calls.append(request)
            raise failure

    inspector = Raising()

    async def whole() -> None:
        with pytest.raises(type(failure)) as caught:
            await create_judge(evaluator=inspector, evidence_access=Access()).judge(request_json())
        assert type(caught.value) is type(failure)

    run(whole())
    assert len(inspector.calls) == 1


def test_a_port_that_fails_before_it_returns_an_awaitable_leaves_nothing_behind() -> None:
    log = Log()

    class Plain(HangingAccess):
        def resolve(self, reference: ImageReference, *, role: str, cancel: asyncio.Event) -> Any:
            if reference.id == "back-1":
                raise KeyError(reference.id)
            return super().resolve(reference, role=role, cancel=cancel)

    with pytest.raises(KeyError):
        judge(access=Plain(log, "truth"))
    assert len(log.cancelled) == len(log.stops)


def test_images_are_resolved_together_and_not_one_after_the_other() -> None:
    together = asyncio.Event()

    class Meeting(Access):
        async def resolve(self, reference: ImageReference, *, role: str, cancel: asyncio.Event) -> Any:
            answer = await super().resolve(reference, role=role, cancel=cancel)
            if len(self.asked) == 4:
                together.set()
            await together.wait()
            return answer

    assert judge(access=Meeting()).verdict == "pass"


def test_the_ports_cancel_stays_unset_in_a_judgment_that_ends_well() -> None:
    stops: list[asyncio.Event] = []

    class Keeping(Inspector):
        async def evaluate(self, request: EvaluatorRequest, *, cancel: asyncio.Event) -> Any:
            stops.append(cancel)
            return await super().evaluate(request, cancel=cancel)

    judge(inspector=Keeping())
    assert [stop.is_set() for stop in stops] == [False]
