"""What may be read at all: which paths, and how much."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from memory_mcp.errors import InvalidArgumentError
from memory_mcp.transfer import bundle, json_text
from memory_mcp.transfer.bundle import bundle_at
from memory_mcp.transfer.json_text import parsed
from memory_mcp.transfer.service import Gate
from tests.memory_mcp.world import World


def archive(path: Path, files: dict[str, bytes]) -> Path:
    """A zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, data in files.items():
            zipped.writestr(name, data)
    return path


def test_an_archive_is_read_without_what_leads_out_of_it_or_is_hidden(tmp_path: Path) -> None:
    files = dict.fromkeys(
        ("a.md", "../out.md", "/abs.md", "d\\e.md", ".git/x.md", "__MACOSX/a.md", "d/b.json", "p.png"), b"x"
    )

    assert set(bundle_at(archive(tmp_path / "a.zip", files)).files) == {"a.md", "d/b.json"}


def test_a_folder_is_read_without_links_and_hidden_files(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("secret")
    folder = tmp_path / "in"
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "a.md").write_text("x")
    (folder / ".env.md").write_text("x")
    (folder / "link.md").symlink_to(tmp_path / "secret.md")
    (folder / "out").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe.md")

    assert bundle_at(folder).files == {"d/a.md": b"x"}


def test_an_archive_that_unpacks_to_too_much_is_refused_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MAX_FILE_BYTES", 3 << 20)
    monkeypatch.setattr(bundle, "MAX_BYTES", 5 << 20)
    bomb = archive(tmp_path / "bomb.zip", {"a.json": bytes(50 << 20)})
    many = archive(tmp_path / "many.zip", {f"{number}.json": bytes(2 << 20) for number in range(4)})

    assert bomb.stat().st_size < 100_000
    with pytest.raises(InvalidArgumentError, match="A file to import is over 3 MiB"):
        bundle_at(bomb)
    with pytest.raises(InvalidArgumentError, match="too much to import at once"):
        bundle_at(many)


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MAX_FILES", 3)
    for number in range(4):
        (tmp_path / f"{number}.md").write_text("x")

    with pytest.raises(InvalidArgumentError, match="at most 3 files"):
        bundle_at(tmp_path)


def test_json_with_too_many_parts_is_refused_before_it_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_text, "MAX_CONTAINERS", 10)

    with pytest.raises(InvalidArgumentError, match="over 10 objects and lists"):
        parsed("[" + "{}," * 20 + "{}]", "x.json")
    with pytest.raises(InvalidArgumentError, match=r"x\.json is no JSON"):
        parsed("9" * 100_000, "x.json")


@pytest.mark.parametrize("damage", ["cut", "locked", "rubbish"])
def test_a_damaged_or_locked_archive_is_one_sentence(tmp_path: Path, damage: str) -> None:
    path = archive(tmp_path / "a.zip", {"a.md": os.urandom(3000)})
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:1000]
    elif damage == "locked":
        at = data.index(b"PK\x01\x02")
        data[6] |= 1
        data[at + 8] |= 1
    else:
        data[40:2500] = bytes(2460)
    path.write_bytes(data)

    with pytest.raises(InvalidArgumentError, match="zip archive is damaged, locked"):
        bundle_at(path)


@pytest.mark.parametrize("name", ["absent.md", "a\x00b.md", "key.pem", "x" * 5000 + ".md"])
def test_what_is_not_there_or_no_such_file_is_refused_without_its_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "key.pem").write_text("secret")

    with pytest.raises(InvalidArgumentError) as refused:
        bundle_at(tmp_path / name)
    assert str(tmp_path) not in str(refused.value)


def test_only_what_lies_in_the_import_folder_may_be_read_from_elsewhere(world: World, tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "a.md").write_text(f"- from {folder.name}")
    (inside / "link.md").symlink_to(outside / "a.md")
    gate = Gate(any_path=False, folder=inside)

    for path in ("../out/a.md", str(outside / "a.md"), "link.md", "/etc/passwd", "~/x.md", "..", "a.md/../../out/a.md"):
        with pytest.raises(InvalidArgumentError, match="A path cannot be read from here; send the text as content"):
            world.take_in(Path(path), gate=gate)
    assert world.take_in(Path("a.md"), gate=gate).new
    assert world.take_in(inside / "a.md", gate=gate).known == 1
    assert world.everything() == ["from in"]


def test_without_an_import_folder_no_path_may_be_read_from_elsewhere(world: World, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("- x")

    with pytest.raises(InvalidArgumentError, match="PROMETHEUS_MEMORY_IMPORT_FOLDER"):
        world.take_in(tmp_path / "a.md", gate=Gate(any_path=False))


def test_either_a_path_or_a_text_is_imported(world: World) -> None:
    gate = Gate(any_path=True)
    for path, content in ((None, None), ("x.md", "- x"), (" ", "\n")):
        with pytest.raises(InvalidArgumentError, match="Send either a path or content"):
            world.transfer.take_in(gate=gate, path=path, content=content)
    with pytest.raises(InvalidArgumentError, match="at most 1,000,000 are taken"):
        world.take_in("x" * 1_000_001)
    with pytest.raises(InvalidArgumentError, match="half of a surrogate pair"):
        world.take_in("\ud83d")


def test_an_import_that_fails_in_the_middle_stores_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.remember("Before.")
    monkeypatch.setattr("memory_mcp.transfer.taking_in.index_text", _failing_at(3))

    with pytest.raises(ZeroDivisionError):
        world.take_in("- one\n- two\n- three\n- four")
    assert world.everything() == ["Before."]


def _failing_at(call: int) -> object:
    from memory_mcp.indexing import index_text

    calls = iter(range(1, 100))

    def fail(content: object) -> object:
        if next(calls) == call:
            raise ZeroDivisionError
        return index_text(content)  # type: ignore[arg-type]

    return fail


def test_an_empty_folder_has_nothing_to_import(world: World, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InvalidArgumentError, match="nothing in it that can be imported"):
        world.take_in(tmp_path / "empty")
