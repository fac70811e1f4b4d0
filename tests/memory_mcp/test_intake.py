from __future__ import annotations

import pytest

from memory_mcp import intake
from memory_mcp.errors import InvalidArgumentError
from memory_mcp.model import Changes, Kind, Origin, Source, Trust
from memory_mcp.normal_form import body_hash
from tests.memory_mcp.world import content


def test_a_content_is_tidied() -> None:
    tidy = content("  The text.\n", kind="Decision", subject=" Design\nteam ", tags=["A ", "a", "", "b c"])

    assert tidy.body == "The text."
    assert tidy.kind is Kind.DECISION
    assert tidy.subject == "Design team"
    assert tidy.tags == ("a", "b c")
    assert tidy.scope.name == "global"


@pytest.mark.parametrize("body", ["👍", "?", "\u0301", "…", "\u115fx"])
def test_a_body_with_anything_to_see_is_kept_as_it_is(body: str) -> None:
    assert content(body).body == body


def test_a_memory_is_a_fact_unless_it_is_said_otherwise() -> None:
    assert content("x").kind is Kind.FACT


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"body": " \n "}, "The body is empty; send the text to remember."),
        ({"body": "\u200b"}, "The body is empty; send the text to remember."),
        ({"body": "\u3164 \u200d\ufeff\x00"}, "The body is empty; send the text to remember."),
        ({"body": "é" * 32_769}, "The body has 65,538 bytes, at most 65,536 are kept"),
        ({"body": "half \ud83d"}, "The body holds half of a surrogate pair"),
        ({"body": "x", "subject": "\udc00"}, "The subject holds half of a surrogate pair"),
        ({"body": "x", "subject": "s" * 201}, "The subject has 201 characters; send at most 200"),
        ({"body": "x", "tags": [f"t{number}" for number in range(21)]}, "There are 21 tags; send at most 20"),
        ({"body": "x", "tags": ["t" * 65]}, "The tag has 65 characters"),
        ({"body": "x", "source_url": "file:///etc/passwd"}, "The source_url is no web address"),
        ({"body": "x", "source_url": "https://" + "x" * 2000}, "The source_url has 2,008 characters"),
        ({"body": "x", "kind": "null"}, "There is no kind 'null'; send one of fact, reference"),
        ({"body": "x", "happened_at": "soon"}, "The happened_at 'soon' is no time"),
    ],
)
def test_what_cannot_be_kept_is_refused_in_one_sentence(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        content(**fields)  # type: ignore[arg-type]

    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_the_longest_body_is_kept() -> None:
    assert len(content("é" * 32_768).body) == 32_768


@pytest.mark.parametrize("text", ["", "mem_", "mem_XYZ", "mem_" + "a" * 21, "../../etc/passwd", "mem_" + "A" * 20])
def test_what_is_no_id_is_refused_before_it_reaches_the_store(text: str) -> None:
    with pytest.raises(InvalidArgumentError, match="is no memory id; ids look like"):
        intake.checked_id(text)


def test_an_id_may_have_space_around_it() -> None:
    assert intake.checked_id(f" mem_{'0' * 20}\n") == f"mem_{'0' * 20}"


def test_a_query_may_be_blank_but_not_endless() -> None:
    assert intake.checked_query(" ") == " "
    with pytest.raises(InvalidArgumentError, match="The query has 4,001 characters; send at most 4,000"):
        intake.checked_query("x" * 4001)


@pytest.mark.parametrize(("limit", "size"), [(None, 10), (-1, 1), (0, 1), (7, 7), (1000, 50)])
def test_a_limit_is_clamped(limit: int | None, size: int) -> None:
    assert intake.page_size(limit, 10) == size


def test_an_update_changes_only_what_is_sent() -> None:
    old = content("old", subject="s", tags=["a"], scope="project:x", kind="decision")

    new = intake.changes(body=" new ", tags=["b"]).applied_to(old)

    assert new == content("new", subject="s", tags=["b"], scope="project:x", kind="decision")


@pytest.mark.parametrize("sent", [{}, {"subject": None}, {"tags": None}, {"scope": ""}])
def test_an_update_without_a_change_is_refused(sent: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError, match="There is nothing to change"):
        intake.changes(**sent)  # type: ignore[arg-type]


def test_an_empty_list_of_tags_clears_them_and_none_keeps_them() -> None:
    old = content("old", tags=["a"])

    assert intake.changes(tags=[]).applied_to(old) == content("old")
    assert intake.changes(body="new").applied_to(old) == content("new", tags=["a"])


def test_changes_are_read_like_a_content() -> None:
    assert intake.changes(subject=" a  b ") == Changes(subject="a b")
    assert intake.changes(subject=" ") == Changes(subject="")
    with pytest.raises(InvalidArgumentError, match="The body is empty"):
        intake.changes(body="")


def test_our_own_agent_is_shown_by_its_short_name() -> None:
    assert intake.origin("prometheus-agent") == Origin("prometheus", Trust.AGENT)
    assert intake.origin("claude-ai") == Origin("claude-ai", Trust.AGENT)


def test_what_names_a_web_source_is_of_the_web() -> None:
    assert intake.origin("claude-ai", "https://example.org").trust is Trust.WEB
    assert intake.origin("claude-ai", " ").trust is Trust.AGENT


def test_the_trust_is_what_the_writer_says_but_what_names_a_web_source_is_never_more() -> None:
    assert intake.origin("claude-ai", trust=" User ").trust is Trust.USER
    assert intake.origin("claude-ai", "https://example.org", "user").trust is Trust.WEB
    with pytest.raises(InvalidArgumentError, match="no trust 'friend'; send one of user, agent, web, import"):
        intake.origin("claude-ai", trust="friend")


def test_a_source_is_a_client_a_trust_or_both() -> None:
    web, own = Origin("claude-ai", Trust.WEB), Origin("prometheus", Trust.AGENT)

    assert intake.source(None, " ") == Source()
    assert intake.source("prometheus-agent", None).covers(own)
    assert intake.source(" claude-ai ", "web").covers(web)
    assert not intake.source("claude-ai", "agent").covers(web)
    assert not intake.source("claude-ai", None).covers(own)


def test_bodies_that_differ_in_case_width_and_space_are_one() -> None:
    assert body_hash("The  TEAM\nmeets") == body_hash("the team \uff4d\uff45\uff45\uff54\uff53")
    assert body_hash("the team meets") != body_hash("the team meets.")
