from __future__ import annotations

from pathlib import Path

import pytest

from receipt_writer import serving
from receipt_writer.process import ServeOptions


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "soon", "31536001", "9" * 5000, ""])
def test_how_often_a_state_is_made_is_a_number_of_seconds(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        serving.main(["--listen", "127.0.0.1:0", f"--state-every={text}"])
    assert ended.value.code == 2
    assert "--state-every" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ServeOptions()),
        (["--state-every", "60"], ServeOptions(state_every_ms=60_000)),
        (
            ["--require-token", "--take-over", "--exit-with-stdin"],
            ServeOptions(exit_with_stdin=True, take_over=True, is_token_required=True),
        ),
    ],
)
def test_the_command_line_says_how_to_serve(
    words: list[str], expected: ServeOptions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[object] = []

    def serve(*given: object) -> int:
        seen.extend(given)
        return 0

    monkeypatch.setattr(serving, "serve_process", serve)
    assert serving.main(["--listen", "127.0.0.1:0", "--home", str(tmp_path), *words]) == 0
    assert (seen[0], seen[2]) == (tmp_path / "receipts", expected)
