"""Who owns a file in the run folder, through the real command line."""

from __future__ import annotations

import json
from pathlib import Path

from conftest import RunCli

SWAPPED = [
    {"id": "short", "text": "One.", "out": "y.wav"},
    {"id": "long", "text": "A much longer text, so that this one is made first.", "out": "x.wav"},
]


def make(cli: RunCli, tmp_path: Path, rows: list[dict[str, str]], *words: str) -> None:
    manifest = tmp_path / "m.jsonl"
    manifest.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    ended = cli("run", str(manifest), "--engine", "tone", "--workers", "1", *words)
    assert ended.code == 0, ended.err


def outputs(tmp_path: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in (tmp_path / "m-out").glob("*.wav")}


def test_rows_that_swap_their_names_keep_both_files_through_a_prune(cli: RunCli, tmp_path: Path) -> None:
    make(cli, tmp_path, [SWAPPED[0] | {"out": "x.wav"}, SWAPPED[1] | {"out": "y.wav"}])
    before = outputs(tmp_path)
    make(cli, tmp_path, SWAPPED, "--prune")
    make(cli, tmp_path, SWAPPED, "--prune")
    assert outputs(tmp_path) == {"x.wav": before["y.wav"], "y.wav": before["x.wav"]}


def test_a_name_taken_over_by_a_new_row_is_not_pruned_with_its_old_owner(cli: RunCli, tmp_path: Path) -> None:
    make(cli, tmp_path, [SWAPPED[0] | {"out": "x.wav"}])
    make(cli, tmp_path, [SWAPPED[0] | {"out": "z.wav"}, SWAPPED[1]], "--prune")
    assert set(outputs(tmp_path)) == {"x.wav", "z.wav"}
