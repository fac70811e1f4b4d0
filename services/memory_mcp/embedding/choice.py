"""Which model makes vectors, from the settings: none, the packaged one, or an endpoint."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing

from memory_mcp.embedding.protocol import Embedder
from memory_mcp.errors import EmbeddingError
from service_runtime.errors import SetupError
from service_runtime.settings import Settings

PACKAGED, OFF = "packaged", "off"
DEFAULT_MODEL = "text-embedding-3-small"


def chosen(settings: Settings) -> Callable[[], Embedder] | None:
    """Returns what loads the chosen model, none when searches go by words alone; nothing heavy is imported yet.

    Raises:
        SetupError: `PROMETHEUS_EMBEDDINGS` is neither `packaged` nor `off`.
    """
    url = settings.get("EMBEDDINGS_URL")
    told = (settings.get("EMBEDDINGS") or ("endpoint" if url else OFF)).strip().lower()
    if told == PACKAGED:
        return _packaged
    if told == OFF:
        return None
    if told != "endpoint" or not url:
        raise SetupError(
            f"PROMETHEUS_EMBEDDINGS is {told[:40]!r}; set it to packaged or off, or set PROMETHEUS_EMBEDDINGS_URL.",
        )
    model, key = settings.get("EMBEDDINGS_MODEL") or DEFAULT_MODEL, settings.get("EMBEDDINGS_KEY")
    return lambda: _endpoint(url, model, key)


def try_model(settings: Settings, load: Callable[[], Embedder]) -> None:
    """Looks whether the packaged model is installed, without loading it, or whether the endpoint answers.

    Raises:
        EmbeddingError: It is not, or does not.
    """
    if settings.get("EMBEDDINGS_URL") is None:
        from memory_mcp.embedding.packaged import model_path

        model_path()
        return
    with closing(load()) as embedder:
        embedder.embed(["A check."])


def _packaged() -> Embedder:
    from memory_mcp.embedding.packaged import load_packaged

    return load_packaged()


def _endpoint(url: str, model: str, key: str | None) -> Embedder:
    try:
        from memory_mcp.embedding.endpoint import EndpointEmbedder
    except ImportError as error:
        raise EmbeddingError(
            "An embeddings endpoint needs the extra `embeddings`; install it with pip install "
            "'prometheus-agent[embeddings]'.",
        ) from error
    return EndpointEmbedder(url, model, key)
