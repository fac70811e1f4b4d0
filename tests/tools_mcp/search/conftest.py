"""A web of our own and a fetcher on it; modules that need another web define their own fixture of the name."""

from collections.abc import Iterator

import pytest

from tests.tools_mcp.search.fetching_here import InThisProcess
from tests.tools_mcp.search.web_of_ours import Certificates, Web, certificates, web_of_ours
from tools_mcp.search.fetching import Fetcher


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Certificates for site.example and the names below it."""
    return certificates(tmp_path_factory.mktemp("papers"), "site.example", "*.site.example")


@pytest.fixture
def web(papers: Certificates) -> Iterator[Web]:
    """Servers for http and https."""
    with web_of_ours(papers) as web:
        yield web


@pytest.fixture
def fetcher(web: Web, papers: Certificates) -> Fetcher:
    """A fetcher that reaches only this web."""
    return Fetcher(web, InThisProcess(), papers.trust)
