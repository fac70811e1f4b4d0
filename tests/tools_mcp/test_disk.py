"""What killed writers leave behind goes, and nothing else does."""

import os
from pathlib import Path

from tools_mcp.disk import remove_leftovers


def test_temporary_files_of_killed_writers_go_and_nothing_else_does(tmp_path: Path) -> None:
    kept = [tmp_path / name for name in (".note.md.tmp", "note.abcd1234.tmp", ".a.12345678.tmp")]
    for path in (*kept, tmp_path / ".note.md.ab_d1234.tmp"):
        path.write_text("")
        os.utime(path, (1_000, 1_000))
    os.utime(kept[-1], (3_000, 3_000))

    assert remove_leftovers(tmp_path, before_s=2_000) == 1
    assert sorted(tmp_path.iterdir()) == sorted(kept)
