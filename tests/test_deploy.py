"""What lies in deploy/ and docs/deployment.md: every command, option, unit, metric and file in it exists."""

from __future__ import annotations

import configparser
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml
from conftest import ROOT
from typer.core import TyperGroup

from cli.app import app
from jobs.metrics import METRICS, PREFIX
from jobs.settings import Settings

DEPLOY = ROOT / "deploy"
PAGE = ROOT / "docs/deployment.md"
DOCKERFILES = sorted(DEPLOY.glob("Dockerfile.*"))
TEXTS = sorted([path for path in DEPLOY.rglob("*") if path.is_file()] + [PAGE, ROOT / "docs/metrics.md"])
PROGRAM = re.compile(r"(?:/bin/|^|[\s`(])cosyvoice-batch(?::\w+)? +(?P<words>[a-z][^`\n]*)", re.MULTILINE)


def unfolded(text: str) -> str:
    """Lines that end in a backslash, joined; comment signs of continued comments go."""
    return re.sub(r"\\\n[ \t]*#?[ \t]*", " ", text)


@dataclass(frozen=True, slots=True)
class Command:
    """One call of the program as a file shows it."""

    where: str
    words: tuple[str, ...]


def commands(path: Path) -> Iterator[Command]:
    """Every call of the program by name, up to the next shell operator."""
    text = unfolded(path.read_text(encoding="utf-8"))
    for match in PROGRAM.finditer(text):
        words = re.split(r"&&|\|\||[;|>]", match["words"])[0].split()
        if words[0] in known_commands():
            yield Command(f"{path.name}: {match[0].strip()[:60]}", tuple(words))


@cache
def known_commands() -> dict[str, Any]:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    return dict(group.commands)


def options_of(words: tuple[str, ...]) -> set[str]:
    """The options that the command knows which these words start with."""
    command = known_commands()[words[0]]
    if isinstance(command, TyperGroup):
        command = command.commands[words[1]]
    return {"--help", "-h"}.union(*(set(p.opts) | set(p.secondary_opts) for p in command.params))


def test_every_option_exists() -> None:
    checked = 0
    for path in TEXTS:
        for command in commands(path):
            used = {word.split("=")[0] for word in command.words if re.fullmatch(r"--?[a-z][a-z-]*(=.*)?", word)}
            assert used <= options_of(command.words), f"{command.where}: no option {used - options_of(command.words)}"
            checked += len(used)
    assert checked >= 20, "the pattern finds the commands no more"


def test_a_made_up_option_would_be_found(tmp_path: Path) -> None:
    (tmp_path / "crontab").write_text(
        "1 2 * * * user /opt/x/bin/cosyvoice-batch run m.csv \\\n  --no-such-thing 3 && ls --all\n"
    )
    (command,) = commands(tmp_path / "crontab")
    assert "--no-such-thing" in command.words
    assert "--no-such-thing" not in options_of(command.words)
    assert "--all" not in command.words


def test_files_that_are_pointed_to_exist() -> None:
    for page in (PAGE, ROOT / "docs/metrics.md"):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name} points to {target}"


def test_keys_of_config_files_exist() -> None:
    known = {field.name for field in fields(Settings)}
    for block in re.findall(r"```toml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        keys = {key.replace("-", "_") for key in tomllib.loads(block)}
        assert keys and keys <= known


# -- images ----------------------------------------------------------------------------------------------------------


def instructions(path: Path) -> list[tuple[str, str]]:
    """(instruction, rest) of a Dockerfile; comment lines inside a continued instruction are allowed by Docker."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
    found = []
    for line in unfolded("\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.strip().partition(" ")
            found.append((word, rest.strip()))
    return found


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.suffix)
def test_arguments_of_a_build_are_declared_and_used(path: Path) -> None:
    """Docker drops a --build-arg that no ARG names; an ARG before FROM is known to FROM alone."""
    text = path.read_text(encoding="utf-8")
    found = instructions(path)
    words = [word for word, _ in found]
    early = {rest.split("=")[0] for word, rest in found[: words.index("FROM")] if word == "ARG"}
    late = {rest.split("=")[0] for word, rest in found[words.index("FROM") :] if word == "ARG"}
    assert set(re.findall(r"--build-arg (\w+)", text)) <= early | late
    assert all(f"${{{name}}}" in found[words.index("FROM")][1] for name in early)
    runs = " ".join(rest for word, rest in found if word == "RUN")
    assert all(f"${{{name}}}" in runs or name.startswith("PIP_") for name in late)


@pytest.mark.parametrize("path", [*DOCKERFILES, PAGE], ids=lambda path: path.suffix)
def test_containers_have_somebody_who_hands_signals_on(path: Path) -> None:
    """As process 1 the program hears no SIGTERM before it has asked for it."""
    calls = re.findall(r"docker run .*", unfolded(path.read_text(encoding="utf-8")))
    assert calls and all(" --init " in call for call in calls)


def test_there_is_an_image_for_each_kind_of_device() -> None:
    assert [path.suffix for path in DOCKERFILES] == [".ascend", ".cpu", ".cuda", ".mlu"]


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.suffix)
def test_dockerfile(path: Path) -> None:
    found = instructions(path)
    words = [word for word, _ in found]
    known = {"ARG", "FROM", "ENV", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "ENTRYPOINT", "CMD"}
    assert set(words) <= known
    assert words.count("FROM") == words.count("ENTRYPOINT") == words.count("CMD") == 1
    assert set(words[: words.index("FROM")]) <= {"ARG"}
    values = dict(reversed(found))
    assert [rest for word, rest in found if word == "USER"][-1] not in ("root", "0")
    assert set(json.loads(values["VOLUME"])) == {"/data", "/models", "/cache"}
    assert "cosyvoice-batch" in json.loads(values["ENTRYPOINT"])[-1]
    for source in (piece for word, rest in found if word == "COPY" for piece in rest.split()[:-1]):
        assert (ROOT / source).exists(), source
    copied = {piece for word, rest in found if word == "COPY" for piece in rest.split()[:-1]}
    assert {"pyproject.toml", "cli", "cosyvoice", "jobs", "presets"} <= copied
    assert any("models pull pkuseg" in rest for word, rest in found if word == "RUN")


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.suffix)
def test_shell_of_the_dockerfile_parses(path: Path) -> None:
    for word, rest in instructions(path):
        script = json.loads(rest)[2] if word == "ENTRYPOINT" and "-c" in json.loads(rest) else rest
        if word == "RUN" or script is not rest:
            checked = subprocess.run(["bash", "-n", "-c", script], capture_output=True, text=True)
            assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.suffix)
def test_image_says_that_it_is_unbuilt(path: Path) -> None:
    assert "NOT BUILT" in path.read_text(encoding="utf-8").splitlines()[0]


def test_the_ascend_entrypoint_hands_its_words_on(tmp_path: Path) -> None:
    """The shell before the program sources what is there and changes no word."""
    shell = json.loads(dict(instructions(DEPLOY / "Dockerfile.ascend"))["ENTRYPOINT"])
    program = tmp_path / "cosyvoice-batch"
    program.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        [*shell, "run", "my file.csv", "$HOME"],
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[run][my file.csv][$HOME]"


# -- schedulers ------------------------------------------------------------------------------------------------------

UNITS = sorted((DEPLOY / "systemd").iterdir())


def unit(path: Path) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False, delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(path, encoding="utf-8")
    return parser


def test_service_and_timer_belong_together() -> None:
    assert [path.name for path in UNITS] == ["cosyvoice-batch@.service", "cosyvoice-batch@.timer"]
    service, timer = (unit(path) for path in UNITS)
    assert service["Service"]["Type"] == "oneshot"
    assert service["Service"]["User"] != "root"
    assert timer["Install"]["WantedBy"] == "timers.target"
    writable = service["Service"]["ReadWritePaths"].split()
    metrics = re.search(r"--metrics-file (\S+)", service["Service"]["ExecStart"])
    assert metrics and str(Path(metrics[1]).parent) in writable
    assert service["Service"]["WorkingDirectory"] in writable


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_units(tmp_path: Path) -> None:
    """Its own checker, with a program in the place of ours that is there on every machine."""
    for path in UNITS:
        text = path.read_text(encoding="utf-8").replace("/opt/cosyvoice-batch/bin/cosyvoice-batch", "/bin/true")
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    named = [str(tmp_path / path.name.replace("@", "@prompts")) for path in UNITS]
    checked = subprocess.run(["systemd-analyze", "verify", *named], capture_output=True, text=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_crontab_lines() -> None:
    lines = [
        line
        for line in (DEPLOY / "cron/cosyvoice-batch").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#") and not re.match(r"[A-Z_]+=", line)
    ]
    assert lines
    for line in lines:
        times, user, command = line.split(maxsplit=6)[:5], line.split()[5], line.split(maxsplit=6)[6]
        for value, (low, high) in zip(times, [(0, 59), (0, 23), (1, 31), (1, 12), (0, 7)], strict=True):
            assert value == "*" or all(low <= int(number) <= high for number in value.split(",")), line
        assert user == "cosyvoice"
        assert "%" not in command.replace("\\%", ""), "cron ends a command at a percent sign"
        assert subprocess.run(["sh", "-n", "-c", command]).returncode == 0
    folder = re.search(r"cd (\S+)", lines[0])
    assert folder and len(lines) == 1, "a second job is an example: a folder that is not there is a mail every night"


def test_cron_has_the_environment_of_the_playbook() -> None:
    """Without the segmenter's folder every night ended with a warning, and Chinese was cut otherwise."""
    crontab = (DEPLOY / "cron/cosyvoice-batch").read_text(encoding="utf-8")
    given = dict(re.findall(r"^([A-Z_]+)=(.*)$", crontab, re.MULTILINE))
    (play,) = yaml.safe_load((DEPLOY / "ansible/site.yml").read_text(encoding="utf-8"))
    variables = play["vars"]
    for name, value in variables["cosyvoice_environment"].items():
        for key in ("cosyvoice_models_folder", "cosyvoice_jobs_folder"):
            value = value.replace(f"{{{{ {key} }}}}", variables[key])
        assert given[name] == value
        assert f"{name}={value}" in PAGE.read_text(encoding="utf-8")
    assert given["MAILTO"] == "root"  # a mailbox that every system has


def test_run_log_is_rotated_as_the_user_of_the_jobs() -> None:
    """logrotate leaves out a folder that is not root's, unless it is told whose it is."""
    text = (DEPLOY / "logrotate/cosyvoice-batch").read_text(encoding="utf-8")
    service = unit(UNITS[0])["Service"]
    assert f"su {service['User']} {service['Group']}" in text
    assert str(Path(service["WorkingDirectory"]).parent / "*/*-out/run.log") in text


def test_playbook() -> None:
    (play,) = yaml.safe_load((DEPLOY / "ansible/site.yml").read_text(encoding="utf-8"))
    tasks = [inner for task in play["tasks"] for inner in task.get("block", [task])]
    for task in tasks:
        modules = [key for key in task if key.startswith("ansible.builtin.")]
        assert len(modules) == 1 and task["name"], task
        # A command that says nothing of it counts as a change in every play.
        if modules == ["ansible.builtin.command"]:
            assert "changed_when" in task or "creates" in task["ansible.builtin.command"], task["name"]
    files = {item["from"]: item["to"] for task in tasks for item in task.get("loop", []) if isinstance(item, dict)}
    assert set(files) == {f"systemd/{path.name}" for path in UNITS} | {"logrotate/cosyvoice-batch"}
    assert all((DEPLOY / source).is_file() and Path(source).name == Path(to).name for source, to in files.items())
    words = [task["ansible.builtin.command"].get("argv") for task in tasks if "ansible.builtin.command" in task]
    calls = [argv[5:] for argv in words if isinstance(argv, list) and argv[0] == "runuser"]
    assert [call[0] for call in calls] == ["models", "doctor"]
    assert calls[0][1] in known_commands()["models"].commands
    used = set(re.findall(r"\bcosyvoice_\w+", json.dumps(play)))
    assert used - {"cosyvoice_batch"} == set(play["vars"])


def test_a_cut_off_installation_is_made_up_for() -> None:
    """Whether to install hangs on what is written down after it, not on whether the wheel was just copied."""
    (play,) = yaml.safe_load((DEPLOY / "ansible/site.yml").read_text(encoding="utf-8"))
    (install,) = [task for task in play["tasks"] if "block" in task]
    last = install["block"][-1]["ansible.builtin.copy"]
    (reads,) = [task for task in play["tasks"] if "ansible.builtin.slurp" in task]
    assert reads["ansible.builtin.slurp"]["src"] == last["dest"]
    assert reads["register"] in install["when"]
    assert "handlers" not in play, "they are lost when a later task fails"


# -- alerts ----------------------------------------------------------------------------------------------------------


def test_alert_rules_use_metrics_that_are_written() -> None:
    rules = yaml.safe_load((DEPLOY / "prometheus/cosyvoice-batch.rules.yml").read_text(encoding="utf-8"))
    found = [rule for group in rules["groups"] for rule in group["rules"]]
    assert len({rule["alert"] for rule in found}) == len(found) >= 6
    for rule in found:
        names = re.findall(rf"\b{PREFIX}(\w+)", rule["expr"])
        assert names and set(names) <= set(METRICS), rule["alert"]
        labels = {"instance", "manifest", "folder"}.union(*(METRICS[name].labels for name in names))
        used = re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))
        used += re.findall(r"\{(\w+)=", rule["expr"])
        assert set(used) <= labels, rule["alert"]
        assert rule["labels"]["severity"] in ("info", "warning", "critical")
        assert rule["annotations"]["summary"]
    mentioned = re.findall(r"`(CosyvoiceBatch\w+)`", (ROOT / "docs/metrics.md").read_text(encoding="utf-8"))
    assert set(mentioned) <= {rule["alert"] for rule in found}


RULES = DEPLOY / "prometheus/cosyvoice-batch.rules.yml"
RULES_TEST = DEPLOY / "prometheus/cosyvoice-batch.test.yml"


def test_every_alert_is_tried_firing_and_still() -> None:
    rules = yaml.safe_load(RULES.read_text(encoding="utf-8"))
    trial = yaml.safe_load(RULES_TEST.read_text(encoding="utf-8"))
    assert trial["rule_files"] == [RULES.name]
    alerts = {rule["alert"] for group in rules["groups"] for rule in group["rules"]}
    cases = [case for test in trial["tests"] for case in test["alert_rule_test"]]
    assert {case["alertname"] for case in cases if case.get("exp_alerts")} == alerts
    assert {case["alertname"] for case in cases if not case.get("exp_alerts")} == alerts
    for series in (entry["series"] for test in trial["tests"] for entry in test["input_series"]):
        name, labels = series.removeprefix(PREFIX).split("{")
        used = set(re.findall(r"(\w+)=", labels)) - {"instance"}
        assert used == {"manifest", "folder", *METRICS[name].labels}, series


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs Prometheus' promtool")
def test_promtool_agrees() -> None:
    for command in (["check", "rules", RULES.name], ["test", "rules", RULES_TEST.name]):
        done = subprocess.run(["promtool", *command], cwd=RULES.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def test_no_machine_and_no_registry_is_named() -> None:
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"py(?:pi|thonhosted)\.org|/root\b|/tmp/", text), path.name
