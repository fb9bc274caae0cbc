"""JSON lines -> objects with their line; faults are told and reading goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TextIO

from jobs.csv_rows import Fault
from jobs.encoding import LINE_LIMIT_CHARS


@dataclass(frozen=True, slots=True)
class Record:
    line: int
    values: Mapping[str, object]


class _Repeated(ValueError):
    """A key that stands twice in one object."""


def parse(stream: TextIO) -> Iterator[Record | Fault]:
    """One object a line; blank lines are skipped. `stream` must be opened with `newline=""`."""
    decode = json.JSONDecoder(object_pairs_hook=_object).decode
    number, first = 0, True
    while line := stream.readline(LINE_LIMIT_CHARS):
        number += 1
        if len(line) >= LINE_LIMIT_CHARS:
            yield Fault(number, f"holds a line of more than {LINE_LIMIT_CHARS:,} characters; split the text")
            return
        if number == 1:
            line = line.removeprefix("\ufeff")
        if line.isspace() or not line:
            continue
        try:
            value = decode(line.strip(" \t\r\n"))
            if isinstance(value, dict):
                if "\\u" in line:
                    json.dumps(value, ensure_ascii=False).encode()  # finds halves of surrogate pairs
                yield Record(number, value)
            else:
                yield Fault(number, f"is {_kind(value)}, not an object; {_advice(line)}")
        except _Repeated as error:
            yield Fault(number, str(error))
        except UnicodeEncodeError:
            yield Fault(number, r"holds half of a surrogate pair (such as \ud83d alone); write the whole character")
        except RecursionError:
            yield Fault(number, "is nested too deeply; write plain values")
        except ValueError as error:
            if first and (whole := _another_format(line)):
                yield Fault(number, whole)
                return
            yield Fault(number, _explained(line, error))
        if first and line.lstrip().startswith("["):
            return
        first = False


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    values = dict(pairs)
    if len(values) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Repeated(f"the key {key[:40]!r} stands twice in this object; keep one of them")
            seen.add(key)
    return values


def _kind(value: object) -> str:
    return "a list" if isinstance(value, list) else f"the value {json.dumps(value, ensure_ascii=False)[:40]}"


def _advice(line: str) -> str:
    if line.lstrip().startswith("["):
        return "write one object a line, without brackets around them all (`jq -c '.[]' file.json > file.jsonl`)"
    return 'write one object a line, such as {"id": "a", "text": "Hello."}'


def _another_format(line: str) -> str | None:
    """What the file is instead of JSON lines, judged by its first line."""
    start = line.strip()
    if start.startswith("["):
        return f"is the start of a JSON list; {_advice(line)}"
    if start == "{" or (start.startswith("{") and start.endswith((",", ":", "{", "["))):
        return "is JSON spread over several lines; write each object on one line (`jq -c . file.json > file.jsonl`)"
    if not start.startswith("{"):
        return "does not look like JSON lines; name the file .csv or .tsv if it is a table"
    return None


def _explained(line: str, error: ValueError) -> str:
    if not isinstance(error, json.JSONDecodeError):
        return f"holds a value that cannot be read ({str(error)[:80]})"
    if not line.endswith(("\n", "\r")) and error.pos >= len(line.strip()) - 1:
        return "the last line is cut off; was the file still being written? Write it anew"
    if not line.endswith(("\n", "\r")) and error.msg.startswith("Unterminated string"):
        return "the last line is cut off inside a text; was the file still being written? Write it anew"
    return f"is not valid JSON: {error.msg} at column {error.colno}; correct it or write the file with a JSON library"
