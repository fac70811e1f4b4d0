import pytest

from evals.deterministic.offline_messages import Case, load_cases, main, run_case

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_an_everyday_message_leads_to_the_calls_and_the_reply_a_person_would_expect(case: Case) -> None:
    assert await run_case(case) == []


def test_the_set_holds_at_least_ninety_messages_and_no_name_twice() -> None:
    assert sum(len(case.turns) for case in CASES) >= 90
    assert len({case.name for case in CASES}) == len(CASES)


async def test_the_runner_names_what_a_case_does_not_meet() -> None:
    met = next(case for case in CASES if case.name.startswith("Remember that the design team"))
    wrong = Case(
        name=met.name,
        now=met.now,
        zone=met.zone,
        turns=(type(met.turns[0])(met.turns[0].say, (("memory_forget", {"id": "1"}),), ("Booked",), ("remember",)),),
        without=frozenset(),
        answers={},
    )
    problems = "\n".join(await run_case(wrong))
    assert "called memory_remember instead of memory_forget" in problems
    assert "the reply lacks 'Booked'" in problems
    assert "the reply says 'remember'" in problems


def test_the_runner_prints_a_summary_and_exits_with_zero(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr().out.startswith(f"{len(CASES)} of {len(CASES)} conversations met")
