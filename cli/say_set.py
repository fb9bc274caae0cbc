"""`say-set LANGUAGE KIND… -o MANIFEST`: the words that a phone system joins to sentences, as a ready manifest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from cli.output import complain
from jobs.errors import UserError


def say_set(
    language: Annotated[str, typer.Argument(help="`en` or `zh`.")],
    kinds: Annotated[
        list[str],
        typer.Argument(help="`digits`, `numbers`, `letters`, `dates`, `times`, `money`, or `all`.", metavar="KIND…"),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The manifest to write (JSON lines).", metavar="MANIFEST")],
    platform: Annotated[
        str, typer.Option("--platform", help="Whose file names: `asterisk` or `freeswitch`. (default: asterisk)")
    ] = "asterisk",
    profile: Annotated[
        str | None,
        typer.Option("--profile", "-p", help="Profile of the rows. (default: prompt-pieces, freeswitch-pieces)"),
    ] = None,
    voice: Annotated[str | None, typer.Option("--voice", help="Voice of the rows. (default: the run's)")] = None,
) -> None:
    """Write a manifest of every word that PLATFORM needs to say KIND in LANGUAGE, under the names it looks for.

    Files go to a folder of the language: en/digits/0, zh/digits/hundred.
    """
    from jobs.files import replacing
    from jobs.say_set import KINDS, LANGUAGES, PLATFORMS, PROFILES, pieces

    for value, choices, name in ((language, LANGUAGES, "LANGUAGE"), (platform, PLATFORMS, "--platform")):
        if value not in choices:
            raise UserError(f"{name}: {value!r} is not one of {', '.join(choices)}")
    if unknown := [kind for kind in kinds if kind not in (*KINDS, "all")]:
        raise UserError(f"KIND: {unknown[0]!r} is not one of {', '.join(KINDS)}, all")
    chosen = [kind for kind in KINDS if kind in kinds or "all" in kinds]
    found = {
        piece.name: piece
        for kind in chosen
        for piece in pieces(language, kind, platform)  # type: ignore[arg-type]
    }
    with replacing(out) as stream:
        for piece in found.values():
            path = f"{language}/{piece.name}"
            row = {"id": path.replace("/", "-"), "out": path, "text": piece.text, "language": language}
            row |= {"profile": profile or PROFILES[platform]} | ({"voice": voice} if voice else {})
            stream.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    complain(f"{len(found)} rows written to {out}")
