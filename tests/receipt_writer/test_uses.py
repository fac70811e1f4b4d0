from __future__ import annotations

import pytest

from receipt_writer.errors import WriterStoppedError
from receipt_writer.uses import Uses


class Watch:
    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_ledger_is_idle_since_its_last_call_ended() -> None:
    watch = Watch()
    uses = Uses(watch)
    watch.now_s += 10
    with uses.a_use():
        watch.now_s += 1000
        assert not uses.are_none_for(0)
    assert (uses.are_none_for(0), uses.are_none_for(5)) == (True, False)
    watch.now_s += 5
    assert uses.are_none_for(5)


def test_a_ledger_that_was_never_called_is_idle_since_it_was_opened() -> None:
    watch = Watch()
    uses = Uses(watch)
    assert not uses.are_none_for(1)
    watch.now_s += 1
    assert uses.are_none_for(1)


def test_a_call_among_others_that_ends_leaves_them_counted() -> None:
    uses = Uses(Watch())
    with uses.a_use():
        with uses.a_use():
            pass
        assert not uses.are_none_for(0)


def test_a_closed_ledger_takes_no_call_and_says_what_to_do() -> None:
    uses = Uses(Watch())
    uses.end()
    with pytest.raises(WriterStoppedError, match="send this again, which opens it"), uses.a_use():
        pytest.fail("the call was let in")
