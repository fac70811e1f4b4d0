import pytest

from tools_mcp.notes.links import Move, Names, kept, names_of
from tools_mcp.notes.markdown import links

VAULT = Names.of(
    name
    for note_id, title, aliases in (
        ("Ideas", "Ideas", ()),
        ("work/Ideas", "Ideas", ()),
        ("work/deep/Plan", "The big plan", ("Roadmap",)),
        ("home/Plan", "Plan", ()),
        ("1- 12-3-24 -", "1: 12/3/24 ?", ()),
        ("a/Ideas and more", "Ideas and more", ()),
        ("home/Roadmap", "Roadmap", ()),
    )
    for name in names_of(note_id, title, aliases)
)


@pytest.mark.parametrize(
    ("text", "source", "meant"),
    [
        ("[[Ideas]]", "home/x", "Ideas"),
        ("[[ideas]]", "work/x", "Ideas"),
        ("[[plan]]", "work/deep/x", "work/deep/Plan"),
        ("[[work/Ideas]]", "x", "work/Ideas"),
        ("[[/work/ideas.md]]", "x", "work/Ideas"),
        ("[[deep/Plan]]", "x", "work/deep/Plan"),
        ("[[Plan]]", "x", "home/Plan"),
        ("[[The big plan#Costs|it]]", "x", "work/deep/Plan"),
        ("[[Roadmap]]", "x", "home/Roadmap"),
        ("[[1: 12/3/24 ?]]", "x", "1- 12-3-24 -"),
        ("[[nothing]]", "x", None),
        ("[[other/Ideas]]", "x", None),
        ("[x](Ideas.md)", "work/x", "work/Ideas"),
        ("[x](work/Ideas.md)", "home/x", "work/Ideas"),
        ("[x](../Ideas.md)", "work/x", "Ideas"),
        ("[x](../../Ideas.md)", "work/x", None),
    ],
)
def test_a_link_means_the_note_a_person_would_expect(text: str, source: str, meant: str | None) -> None:
    [link] = links(text)

    assert VAULT.resolve(link, source) == meant


def moved(body: str, move: Move, title: str, source: str = "x") -> str:
    after = VAULT.after(move, names_of(move.new, title, ()))
    place = move if source == move.old else Move(source, source)
    return kept(body, place, move, VAULT, after)[0]


@pytest.mark.parametrize(
    ("body", "now"),
    [
        ("[[Plan#Costs|the plan]] and `[[Plan]]`", "[[Budget#Costs|the plan]] and `[[Plan]]`"),
        ("![[home/Plan]]", "![[money/Budget]]"),
        ("[p](home/Plan.md#costs)", "[p](money/Budget.md#costs)"),
        ("[[work/deep/Plan]] [[Ideas]] [[nothing]]", "[[work/deep/Plan]] [[Ideas]] [[nothing]]"),
    ],
)
def test_a_renamed_note_is_still_meant(body: str, now: str) -> None:
    assert moved(body, Move("home/Plan", "money/Budget"), "Budget") == now


def test_a_link_by_title_stays_when_only_the_folder_changes() -> None:
    assert moved("[[The big plan]]", Move("work/deep/Plan", "Plan"), "The big plan") == "[[The big plan]]"


def test_a_move_that_would_take_over_the_links_to_another_note_writes_those_anew() -> None:
    assert moved("[[Plan]] [[The big plan]]", Move("work/deep/Plan", "Plan"), "Plan") == "[[home/Plan]] [[Plan]]"


def test_the_links_of_the_moved_note_keep_their_meaning() -> None:
    body = "[[Plan]] [a](Plan.md) [b](../Ideas.md)"
    now = "[[home/Plan]] [a](home/Plan.md) [b](../../Ideas.md)"

    assert moved(body, Move("home/Roadmap", "work/deep/Roadmap"), "Roadmap", source="home/Roadmap") == now


def test_a_link_that_means_nothing_is_left_alone() -> None:
    assert moved("[[Budget]]", Move("home/Plan", "home/Budget"), "Budget") == "[[Budget]]"


def test_a_note_that_no_wiki_link_can_name_leaves_its_links_as_they_are() -> None:
    assert moved("[[home/Plan]]", Move("home/Plan", "home/a#b"), "a#b") == "[[home/Plan]]"
