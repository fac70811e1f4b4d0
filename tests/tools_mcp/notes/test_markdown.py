import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tools_mcp.notes.markdown import headings, links, replaced, section, tags, without_code

ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
MARKDOWN = st.lists(
    st.sampled_from(["[[", "]]", "|", "#", "`", "```", "~~~", "\n", "    ", "> ", "- ", "[a](", "b.md", ")", "<", "x"]),
    max_size=60,
).map("".join)


@pytest.mark.parametrize(
    ("body", "targets"),
    [
        ("see [[Ideas]] and [[Ideas]]", ["Ideas", "Ideas"]),
        ("[[work/Ideas|the ideas]]", ["work/Ideas"]),
        ("[[Ideas#Heading]] [[Ideas#^block]]", ["Ideas", "Ideas"]),
        ("![[picture note]] an embed", ["picture note"]),
        ("[[#Heading of this note]]", []),
        ("| a | b |\n|---|---|\n| [[Ideas\\|shown]] | x |", ["Ideas"]),
        ("[[ Ideas ]] and [[Ideas.md]]", ["Ideas", "Ideas"]),
        ("[shown](work/My%20ideas.md) [b](x.md#part)", ["work/My ideas", "x"]),
        ("[shown](<My ideas.md>) [c](../up.md)", ["My ideas", "../up"]),
        ("[web](https://example.org/readme.md) ![p](a.png)", []),
        ("[[]] [[ ]] [[|x]] [not] [[broken\n]]", []),
        ("[[1: 12/3/24 ?]]", ["1: 12/3/24 ?"]),
    ],
)
def test_links_are_read_as_obsidian_reads_them(body: str, targets: list[str]) -> None:
    found = links(body)

    assert [link.target for link in found] == targets
    assert all(body[link.start : link.end].strip() for link in found)


CODE = "```\n[[no]] #no\n# no\n```\n"
NO_CODE = "[[yes]] #yes\n# yes\n"


@pytest.mark.parametrize(
    "code",
    [
        CODE,
        "~~~ text\n[[no]] #no\n```\n[[no]]\n~~~\n",
        "````\n```\n[[no]] #no\n````\n",
        "> ```\n> [[no]] #no\n\n",
        "`[[no]] #no`\n",
        "`` ` [[no]] #no ``\n",
        "\n    [[no]] #no\n    # no\n\n",
        "\n\t[[no]] #no\n",
    ],
)
def test_code_holds_no_links_tags_or_headings(code: str) -> None:
    for body in (f"{code}{NO_CODE}", f"{NO_CODE}{code}"):
        assert [link.target for link in links(body)] == ["yes"]
        assert tags(body) == ("yes",)
        assert [heading.text for heading in headings(body)] == ["yes"]


@pytest.mark.parametrize(
    "body",
    ["- item\n\n    [[yes]] in the item", "text\n    [[yes]] goes on", "an ` open tick [[yes]]", "``` a `b` [[yes]]"],
)
def test_what_only_looks_like_code_is_text(body: str) -> None:
    assert [link.target for link in links(body)] == ["yes"]


def test_tags_are_read_as_obsidian_reads_them() -> None:
    body = "#one word#no #two/three, (#no) #2026 #y2026 #a_b-c # no\n#One #日本 https://x.org/#no [[x#no]] \\#no"

    assert tags(body) == ("one", "two/three", "y2026", "a_b-c", "日本")


def test_headings_have_levels_and_places() -> None:
    body = "# One\ntext\n## Two ##\n####### no\n#no\n   ### Three\r\n"

    assert [(one.level, one.text) for one in headings(body)] == [(1, "One"), (2, "Two"), (3, "Three")]
    assert body[headings(body)[1].start :].startswith("## Two")


PLAN = "# Plan\nintro\n## Costs\nmuch\n### Detail\nmore\n## Costs 2\nless\n# Other\n## Costs\nnone\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("costs", "## Costs\nmuch\n### Detail\nmore\n"),
        ("## Costs", "## Costs\nmuch\n### Detail\nmore\n"),
        ("Other#Costs", "## Costs\nnone\n"),
        ("Detail", "### Detail\nmore\n"),
        ("Other", "# Other\n## Costs\nnone\n"),
        ("Nothing", None),
        ("Detail#Costs", None),
        ("#", None),
    ],
)
def test_a_section_reaches_to_the_next_heading_that_is_not_below_it(name: str, text: str | None) -> None:
    assert section(PLAN, name) == text


def test_targets_are_replaced_in_their_places() -> None:
    body = "a [[One#x|y]] b [z](One.md) c"
    found = links(body)

    assert replaced(body, [(link, link.written("new one") or "") for link in found]) == (
        "a [[new one#x|y]] b [z](new%20one.md) c"
    )
    assert found[0].written("a#b") is None


@settings(deadline=None)
@given(ANY_TEXT | MARKDOWN)
@example("[[" * 2000)
@example("`" * 3000)
@example("](" * 2000)
@example("#" * 3000)
@example("a" * 3000 + "](")
@example("> ```\n" * 500)
@example("# #0")
def test_no_text_is_too_odd(body: str) -> None:
    shown = without_code(body)

    assert len(shown) == len(body)
    assert replaced(body, [(link, body[link.start : link.end]) for link in links(body)]) == body
    assert all(section(body, heading.text) for heading in headings(body) if heading.text.strip("#"))
    assert all(tag for tag in tags(body))
