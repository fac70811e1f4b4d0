from __future__ import annotations

from dataclasses import dataclass, field

from receipt_writer.growth import Growth


@dataclass
class AHead:
    size: int = 0


@dataclass
class AChain:
    head: AHead = field(default_factory=AHead)


def test_those_who_follow_the_chain_that_grew_are_woken_and_no_others() -> None:
    chains = {"L10": AChain(), "L12": AChain()}
    growth = Growth(chains)
    with growth.following("L10") as turns, growth.following("L12") as one, growth.following("L12") as other:
        chains["L12"].head.size = 3
        growth.look()
        assert (turns.is_set(), one.is_set(), other.is_set()) == (False, True, True)


def test_a_look_without_growth_wakes_nobody() -> None:
    chains = {"L12": AChain(AHead(5))}
    growth = Growth(chains)
    with growth.following("L12") as grown:
        growth.look()
        assert not grown.is_set()
        growth.tell("L12")  # a checkpoint of the same size
        assert grown.is_set()


def test_whoever_follows_no_more_is_not_woken() -> None:
    chains = {"L12": AChain()}
    growth = Growth(chains)
    with growth.following("L12") as grown:
        pass
    chains["L12"].head.size = 1
    growth.look()
    assert not grown.is_set()
