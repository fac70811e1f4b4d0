"""What was just asked for, kept for a while: bounded in age, in number and in weight."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass
class Cache(Generic[Value]):
    """Values by key, the oldest leaving first; one older than `ttl_s` seconds is not there any more."""

    ttl_s: float
    most_entries: int = 100
    most_weight: int = 10_000_000
    """What all values may weigh together, by `weigh`."""
    weigh: Callable[[Value], int] = lambda _: 0
    clock: Callable[[], float] = time.monotonic
    _kept: OrderedDict[Hashable, tuple[float, Value]] = field(default_factory=OrderedDict)
    _weight: int = 0

    def get(self, key: Hashable) -> Value | None:
        """Return the value, or None when there is none that is young enough."""
        at, value = self._kept.get(key, (0.0, None))
        if value is None:
            return None
        if self.clock() - at < self.ttl_s:
            return value
        self._drop(key)
        return None

    def put(self, key: Hashable, value: Value) -> None:
        """Keep a value; one that weighs more than all may is not kept."""
        self._drop(key)
        if self.weigh(value) > self.most_weight:
            return
        self._kept[key] = (self.clock(), value)
        self._weight += self.weigh(value)
        while len(self._kept) > self.most_entries or self._weight > self.most_weight:
            self._drop(next(iter(self._kept)))

    def _drop(self, key: Hashable) -> None:
        if key in self._kept:
            self._weight -= self.weigh(self._kept.pop(key)[1])
