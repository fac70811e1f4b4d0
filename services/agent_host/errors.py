"""Errors of the agent host.

HostError                       base; the message is one sentence for a person
├── UsageError                  the command line or the input is off (exit 2)
├── ConfigurationError          settings, keys or files name something unusable (exit 2)
├── HomeInUseError              another host runs on this home (exit 2)
├── WriterUnavailableError      the receipt writer does not answer: the receipt is spooled
├── ReceiptRefusedError         the receipt writer refused a draft
└── ProviderError               a model gave no usable answer
    ├── ProviderRefusedError    the provider refused the request (4xx); asking again changes nothing
    └── ProviderUnavailableError  network, overload or a broken stream, after bounded retries
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent_host.providers.protocol import Usage


class HostError(Exception):
    """Base of every error the host shows to a person. The message says what happened and what to do next."""


class UsageError(HostError):
    """The command line or the input cannot be used as it is."""


class ConfigurationError(HostError):
    """Settings, keys or files name something that cannot be used."""


class HomeInUseError(HostError):
    """Another agent host holds this home folder."""


class WriterUnavailableError(HostError):
    """The receipt writer does not answer; what was to be appended belongs in the spool."""


class ReceiptRefusedError(HostError):
    """The receipt writer refused a draft; retrying the same draft changes nothing."""


class ProviderError(HostError):
    """A model gave no usable answer. `usage` is what the provider counted, and bills, before it failed, if known."""

    def __init__(self, message: str, usage: Usage | None = None) -> None:
        super().__init__(message)
        self.usage = usage


class ProviderRefusedError(ProviderError):
    """The provider refused the request; the same request will be refused again."""


class ProviderUnavailableError(ProviderError):
    """The provider could not be reached or broke off, after bounded retries."""
