from pathlib import Path

import pytest

from service_runtime.errors import SetupError
from service_runtime.home import Home
from service_runtime.settings import Settings, load_settings


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("environ", "nearest", "in_home", "expected"),
    [
        ({"PROMETHEUS_MODEL": "environment"}, "PROMETHEUS_MODEL=near", "PROMETHEUS_MODEL=home", "environment"),
        ({}, "PROMETHEUS_MODEL=near", "PROMETHEUS_MODEL=home", "near"),
        ({"PROMETHEUS_MODEL": ""}, "PROMETHEUS_MODEL=near", "PROMETHEUS_MODEL=home", "near"),
        ({}, "PROMETHEUS_MODEL=", "PROMETHEUS_MODEL=home", "home"),
        ({}, "", "PROMETHEUS_MODEL=home", "home"),
        ({}, "", "", "default"),
    ],
)
def test_the_first_source_that_has_a_value_wins(
    tmp_path: Path, environ: dict[str, str], nearest: str, in_home: str, expected: str
) -> None:
    home = tmp_path / "home"
    write(tmp_path / "project" / ".env", nearest)
    write(home / ".env", in_home)
    settings = load_settings(environ | {"PROMETHEUS_HOME": str(home)}, tmp_path / "project")
    assert settings.get("MODEL", "default") == expected


@pytest.mark.parametrize(
    ("option", "environ", "nearest", "expected"),
    [
        ("option", "environment", "near", "option"),
        (None, "environment", "near", "environment"),
        (None, "", "near", "near"),
    ],
)
def test_the_home_folder_follows_the_same_order_and_is_relative_to_the_working_directory(
    tmp_path: Path, option: str | None, environ: str, nearest: str, expected: str
) -> None:
    write(tmp_path / ".env", f"PROMETHEUS_HOME={nearest}")
    settings = load_settings({"PROMETHEUS_HOME": environ}, tmp_path, option)
    assert settings.home == Home(tmp_path / expected)
    assert settings.environment() == {"PROMETHEUS_HOME": str(tmp_path / expected)}


def test_without_a_word_the_home_is_the_users_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert load_settings({}, tmp_path).home.path.name == "prometheus-agent"


def test_a_tilde_is_the_users_folder_and_an_unknown_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings({}, Path("/"), "~/agent").home.path == tmp_path / "agent"
    with pytest.raises(SetupError, match=r"'~nobody-here/x' names an unknown user"):
        load_settings({}, tmp_path, "~nobody-here/x")


def test_the_nearest_env_file_upward_counts_and_no_other(tmp_path: Path) -> None:
    write(tmp_path / ".env", "PROMETHEUS_MODEL=far\nPROMETHEUS_PROVIDER=far")
    write(tmp_path / "a" / ".env", "PROMETHEUS_MODEL=near")
    (tmp_path / "a" / "b" / ".env").mkdir(parents=True)  # a virtual environment, not a file
    settings = load_settings({}, tmp_path / "a" / "b", str(tmp_path / "home"))
    assert settings.get("MODEL") == "near"
    assert settings.get("PROVIDER") is None


def test_only_our_names_and_those_we_share_are_read(tmp_path: Path) -> None:
    lines = ["ANTHROPIC_API_KEY=a", "OPENAI_API_KEY=b", "OTEL_SERVICE_NAME=c", "DATABASE_URL=d", "BARE"]
    write(tmp_path / ".env", "\n".join(lines))
    settings = load_settings({"PATH": "/bin"}, tmp_path, str(tmp_path))
    assert dict(settings.values) == {"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b", "OTEL_SERVICE_NAME": "c"}
    assert settings.outside("ANTHROPIC_API_KEY") == "a"


def test_comments_quotes_export_and_crlf_are_understood(tmp_path: Path) -> None:
    text = "\ufeff# words\r\nexport PROMETHEUS_MODEL='a # b'\r\n\r\nPROMETHEUS_PROVIDER=x # why\r\n"
    (tmp_path / ".env").write_bytes(text.encode())
    settings = load_settings({}, tmp_path, str(tmp_path))
    assert settings.get("MODEL") == "a # b"
    assert settings.get("PROVIDER") == "x"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A=1\n\n# words\nPROMETHEUS_API_KEY sk-secret\n", 4),
        ("A=1\nPROMETHEUS_API_KEY='sk-secret\n", 2),
        ("\n\n=sk-secret\n", 3),
        ("PROMETHEUS_MODEL\n", 1),
    ],
)
def test_a_broken_line_is_named_by_file_and_line_and_never_quoted(tmp_path: Path, text: str, line: int) -> None:
    path = write(tmp_path / ".env", text)
    with pytest.raises(SetupError) as raised:
        load_settings({}, tmp_path, str(tmp_path))
    assert str(raised.value).startswith(f"{path} line {line} is not NAME=value: ")
    assert "secret" not in str(raised.value)


def test_an_env_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"\xff\xfe")
    with pytest.raises(SetupError, match=r"\.env cannot be read as UTF-8 text"):
        load_settings({}, tmp_path, str(tmp_path))


def test_a_child_gets_our_settings_but_not_the_models_key(tmp_path: Path) -> None:
    values = {"PROMETHEUS_API_KEY": "secret", "PROMETHEUS_TIMEZONE": "Asia/Seoul", "ANTHROPIC_API_KEY": "secret"}
    settings = Settings(Home(tmp_path), values)
    assert settings.environment() == {"PROMETHEUS_TIMEZONE": "Asia/Seoul", "PROMETHEUS_HOME": str(tmp_path)}
    assert "secret" not in repr(settings)


def test_a_child_gets_what_it_needs_to_export_spans_from_env_files_too(tmp_path: Path) -> None:
    write(tmp_path / ".env", "OTEL_EXPORTER_OTLP_HEADERS=authorization=secret")
    settings = load_settings({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, tmp_path, str(tmp_path))
    assert settings.environment() == {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318",
        "OTEL_EXPORTER_OTLP_HEADERS": "authorization=secret",
        "PROMETHEUS_HOME": str(tmp_path),
    }
    assert "secret" not in repr(settings)


def test_the_zone_is_the_told_one_else_the_systems(tmp_path: Path) -> None:
    assert str(Settings(Home(tmp_path), {"PROMETHEUS_TIMEZONE": "Europe/Berlin"}).zone()) == "Europe/Berlin"
    assert Settings(Home(tmp_path)).zone().key


@pytest.mark.parametrize("name", ["Mars/Olympus", "../../etc/passwd", "Europe/", "Europe", "nul\0"])
def test_an_unknown_zone_is_refused_with_an_example(tmp_path: Path, name: str) -> None:
    with pytest.raises(SetupError, match=r"is unknown; set PROMETHEUS_TIMEZONE to an IANA name such as Europe/Berlin"):
        Settings(Home(tmp_path), {"PROMETHEUS_TIMEZONE": name}).zone()
