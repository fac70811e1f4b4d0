"""Errors of the agent host.

HostError                       base; the message is one sentence for a person
├── UsageError                  the command line or the input is off (exit 2)
│   └── CallError               a constrained call was asked for in a way that cannot be: nothing was called or recorded
├── ConfigurationError          settings, keys or files name something unusable (exit 2)
│   └── SpecError               a RuntimeAISpec breaks one of its rules
├── HomeInUseError              another host runs on this home (exit 2)
├── LessonError                 what is to be learned for good cannot be kept as it is: nothing was written
├── LoginError                  a login to a tool server did not come about; what was kept before stays
├── WriterUnavailableError      the receipt writer does not answer: the receipt is spooled
├── ReceiptRefusedError         the receipt writer refused a draft
├── BudgetSpentError            a turn or a day has cost what it may: no further model call is made
├── TraceError                  a trace file is not what the host writes: it is refused, not guessed at
├── NoDecisionError             a spec that says `raise` got no usable output; its entry is recorded
└── ProviderError               a model gave no usable answer
    ├── ProviderRefusedError    the provider refused the request (4xx); asking again changes nothing
    ├── OverlongReplyError      a reply grew past every use and was given up while it came
    └── ProviderUnavailableError  network, overload or a broken stream; asking again may do
        └── BrokenOffError      the stream broke after some of the reply's words were shown: they stand
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_host.constrained.options import Decision
    from agent_host.providers.protocol import Usage


class HostError(Exception):
    """Base of every error the host shows to a person. The message says what happened and what to do next."""


class UsageError(HostError):
    """The command line or the input cannot be used as it is."""


class CallError(UsageError):
    """A constrained call cannot be made as it was asked for; no model was called and nothing was recorded."""


class ConfigurationError(HostError):
    """Settings, keys or files name something that cannot be used."""


class SpecError(ConfigurationError):
    """A RuntimeAISpec breaks one of its rules (constrained-ai.md, RuntimeAISpec)."""


class HomeInUseError(HostError):
    """Another agent host holds this home folder."""


class LessonError(HostError):
    """A rule or a skill cannot be kept as it is; nothing was written."""


class LoginError(HostError):
    """A login to a tool server did not come about; what was kept before stays as it was."""


class WriterUnavailableError(HostError):
    """The receipt writer does not answer; what was to be appended belongs in the spool."""


class ReceiptRefusedError(HostError):
    """The receipt writer refused a draft; retrying the same draft changes nothing."""


class BudgetSpentError(HostError):
    """A budget is spent; the message names the setting and what was spent."""


class TraceError(HostError):
    """A trace file cannot be read as one; the message names it."""


class NoDecisionError(HostError):
    """A call under a spec that says `raise` came to no usable output; `decision` has everything but that."""

    def __init__(self, message: str, decision: Decision) -> None:
        super().__init__(message)
        self.decision = decision


class ProviderError(HostError):
    """A model gave no usable answer. `usage` is what the provider counted, and bills, before it failed, if known."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class ProviderRefusedError(ProviderError):
    """The provider refused the request; the same request will be refused again."""


class OverlongReplyError(ProviderError):
    """A reply grew past what any use has for it; the model is there, and asking again is no remedy."""


class ProviderUnavailableError(ProviderError):
    """The provider could not be reached, or its stream broke.

    `wait_s` is how long the server wants to be left alone, infinite when it is not to be asked again; `requests` is how
    many were sent.
    """

    def __init__(
        self, message: str, usage: Usage | None = None, *, wait_s: float | None = None, requests: int = 1
    ) -> None:
        super().__init__(message, usage)
        self.wait_s = wait_s
        self.requests = requests


class BrokenOffError(ProviderUnavailableError):
    """A stream broke after some of the reply's words were shown: they stand, and no other reply would go on."""
