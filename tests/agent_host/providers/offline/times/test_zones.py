import pytest

from agent_host.providers.offline.times.tokens import tokenize
from agent_host.providers.offline.times.zones import Zone, find_zone, read_zone


@pytest.mark.parametrize(
    ("place", "key"),
    [
        ("Tokyo", "Asia/Tokyo"),
        ("new york", "America/New_York"),
        ("UTC", "UTC"),
        ("cet", "Europe/Paris"),
        ("Porto", "Europe/Lisbon"),
        ("Europe/Berlin", "Europe/Berlin"),
        ("San Francisco", "America/Los_Angeles"),
        ("Tokyo?", "Asia/Tokyo"),
    ],
)
def test_a_place_has_a_zone(place: str, key: str) -> None:
    zone = find_zone(place)
    assert zone is not None
    assert zone.key == key


@pytest.mark.parametrize("place", ["", "Atlantis", "localtime", "../etc/passwd", "posixrules", "\x00"])
def test_what_is_no_place_has_none(place: str) -> None:
    assert find_zone(place) is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("UTC", "UTC"),
        ("CET", "Europe/Paris"),
        ("New York time", "America/New_York"),
        ("PST time", "America/Los_Angeles"),
        ("America/New_York", "America/New_York"),
        ("Tokyo time", "Asia/Tokyo"),
        ("new york time", "America/New_York"),
    ],
)
def test_a_zone_in_a_sentence_is_read(text: str, key: str) -> None:
    tokens = tokenize(text)
    assert read_zone(tokens, 0) == (len(tokens), Zone(key))


@pytest.mark.parametrize("text", ["pt", "et", "Lunch time", "focus time", "Ana", "", "and/or", "A/B"])
def test_other_words_are_no_zone(text: str) -> None:
    assert read_zone(tokenize(text), 0) is None
