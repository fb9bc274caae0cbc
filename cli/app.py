"""Builds the command line and turns every error into its message and exit code."""

from __future__ import annotations

import io
import sys
import traceback
from typing import Annotated

import typer

from cli import (
    assemble,
    book,
    check,
    deliver,
    devices,
    doctor,
    inspect,
    models,
    profiles,
    publish,
    report,
    run,
    say,
    say_set,
    subtitles,
    template,
    voices,
)
from cli.output import complain, count, drop_stdout, problems
from cli.status import ExitStatus
from jobs.errors import InvalidInput, UserError
from jobs.problem_groups import Gathered

app = typer.Typer(
    name="cosyvoice-batch",
    help="Batch speech synthesis for audiobooks and phone prompts.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="run")(run.run)
app.command(name="say")(say.say)
app.command(name="check")(check.check)
app.command(name="book")(book.book)
app.command(name="report")(report.report)
app.command(name="inspect")(inspect.inspect)
app.command(name="deliver")(deliver.deliver)
app.command(name="publish")(publish.publish)
app.command(name="say-set")(say_set.say_set)
app.command(name="template")(template.template)
app.command(name="assemble")(assemble.assemble)
app.command(name="subtitles")(subtitles.subtitles)
app.add_typer(voices.app, name="voices")
app.add_typer(profiles.app, name="profiles")
app.add_typer(models.app, name="models")
app.command(name="devices")(devices.devices)
app.command(name="doctor")(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        from jobs.version import tool_version

        typer.echo(f"cosyvoice-batch {tool_version()}")
        raise typer.Exit


@app.callback()
def _globals(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Batch speech synthesis for audiobooks and phone prompts."""


def start() -> None:
    """Run the command line and exit with the documented code."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal of ASCII shows codes, it does not stop us
    try:
        try:
            app()
        finally:
            _flush()
    except InvalidInput as error:
        problems(error.gathered or Gathered(error.problems), error.total)
        complain(f"{count(error.total, 'mistake')}; nothing was done")
        sys.exit(error.exit_code)
    except UserError as error:
        complain(f"error: {error}")
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(ExitStatus.INTERRUPTED)
    except Exception:  # nothing is left above: the person at the terminal gets the whole story, cron an exit code
        complain(f"a fault of cosyvoice-batch, please report it:\n{traceback.format_exc()}")
        sys.exit(ExitStatus.CRASH)


def _flush() -> None:
    """Write out what is left of the results while a closed pipe can still be told from a fault."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
