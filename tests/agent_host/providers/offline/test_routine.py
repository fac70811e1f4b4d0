import pytest

from agent_host.providers.offline.routine import (
    UNANSWERED,
    Call,
    Outcome,
    ReplyStep,
    Routine,
    Say,
    ToolStep,
    choose,
    guarded,
    replay,
    together,
)
from tests.agent_host.providers.offline.scenes import SCENE

OK = Outcome("ok", None, is_error=False)


def twice(name: str) -> Routine:
    """Calls a tool in two rounds and says what came back."""
    (first,) = yield (Call(f"{name}_one", {}),)
    (second,) = yield (Call(f"{name}_two", {}),)
    return f"{name}: {first.content}, {second.content}"


def answered(text: str) -> Outcome:
    return Outcome(text, None, is_error=False)


def test_a_routine_asks_for_its_calls_round_by_round() -> None:
    assert replay(twice("a"), ()) == ToolStep((Call("a_one", {}),))
    assert replay(twice("a"), ((answered("1"),),)) == ToolStep((Call("a_two", {}),))
    assert replay(twice("a"), ((answered("1"),), (answered("2"),))) == ReplyStep("a: 1, 2")


def test_a_routine_without_calls_replies_at_once() -> None:
    assert replay(Say("hello").run(SCENE), ()) == ReplyStep("hello")


def test_rounds_beyond_the_reply_are_ignored() -> None:
    assert replay(Say("hello").run(SCENE), ((OK,), (OK,))) == ReplyStep("hello")


def test_a_round_with_too_few_or_too_many_outcomes_is_fitted() -> None:
    assert replay(twice("a"), ((), (answered("2"),))) == ReplyStep(f"a: {UNANSWERED.content}, 2")
    assert replay(twice("a"), ((answered("1"), OK), (answered("2"), OK))) == ReplyStep("a: 1, 2")


def test_routines_side_by_side_share_their_rounds() -> None:
    both = together([twice("a"), twice("b")])
    assert replay(both, ()) == ToolStep((Call("a_one", {}), Call("b_one", {})))
    rounds = ((answered("a1"), answered("b1")), (answered("a2"), answered("b2")))
    assert replay(together([twice("a"), twice("b")]), rounds) == ReplyStep("a: a1, a2\n\nb: b1, b2")


def test_a_routine_that_ends_early_leaves_the_others_their_rounds() -> None:
    routines = [Say("hello").run(SCENE), twice("b")]
    assert replay(together(routines), ((answered("b1"),),)) == ToolStep((Call("b_two", {}),))
    routines = [Say("hello").run(SCENE), twice("b")]
    assert replay(together(routines), ((answered("b1"),), (answered("b2"),))) == ReplyStep("hello\n\nb: b1, b2")


def test_no_routines_reply_with_nothing() -> None:
    assert replay(together([]), ()) == ReplyStep("")


def test_a_tool_that_is_not_offered_ends_the_routine_in_words() -> None:
    step = replay(guarded(twice("memory"), frozenset()), ())
    assert step == ReplyStep("I can't do that now: no memory tool is connected (memory_one is not offered).")


def test_a_tool_missing_in_the_second_round_ends_it_there() -> None:
    tools = frozenset({"memory_one"})
    assert replay(guarded(twice("memory"), tools), ()) == ToolStep((Call("memory_one", {}),))
    step = replay(guarded(twice("memory"), tools), ((OK,),))
    assert isinstance(step, ReplyStep)
    assert "memory_two is not offered" in step.text


@pytest.mark.parametrize(
    ("choice", "chosen"), [(1, ["a"]), (3, ["c"]), (4, []), (-1, ["c"]), (-9, []), (0, ["a", "b", "c"])]
)
def test_a_choice_is_a_position(choice: int, chosen: list[str]) -> None:
    assert choose(("a", "b", "c"), choice) == chosen
