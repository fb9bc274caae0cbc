"""What of the models is on this machine."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cosyvoice.catalog import ENGINES
from jobs.errors import EnvironmentFault
from jobs.model_catalog import MODELS
from jobs.model_store import MODEL_VARIABLE, FolderState, look, models_folder, named_model
from jobs.pull import pkuseg_state
from jobs.words import default_model_folder


def models(environ: Mapping[str, str]) -> list[dict[str, Any]]:
    """Engines, CosyVoice models and the segmenter's model with their state, as rows for a table.

    Every row has `name`, `what`, `state`; those of models found in a folder also `folder`, `complete`, `size_bytes`,
    `source` and `revision` (empty where nobody wrote it down).
    """
    rows: list[dict[str, Any]] = [
        {"name": facts.name, "what": facts.title, "state": _ready(facts.name)}
        for facts in ENGINES.values()
        if facts.name not in MODELS
    ]
    store = models_folder(environ)
    for model in MODELS.values():
        state = look(store / model.name)
        pull = f"`models pull {model.name}` brings it ({model.size_bytes / 1e9:.1f} GB)"
        row = {"name": model.name, "what": f"{model.title}, speech"}
        rows.append(row | _facts(state) | {"state": _describe(state, pull)})
    if named := environ.get(MODEL_VARIABLE):
        rows.append({"name": MODEL_VARIABLE, "what": "the model to use"} | _named(named, environ))
    segmenter = pkuseg_state(segmenter_folder()).describe()
    return [*rows, {"name": "pkuseg", "what": "Chinese word boundaries", "state": segmenter}]


def segmenter_folder() -> Path:
    """Where the segmenter's model lies."""
    return default_model_folder()


def _named(named: str, environ: Mapping[str, str]) -> dict[str, Any]:
    try:
        state = look(named_model(named, environ))
    except EnvironmentFault as error:
        return {"state": str(error)}
    return _facts(state) | {"state": _describe(state, "check the variable")}


def _facts(state: FolderState) -> dict[str, Any]:
    return {
        "folder": str(state.folder),
        "complete": state.state == "complete",
        "size_bytes": state.size_bytes,
        "source": state.record.source if state.record else "",
        "revision": state.record.revision if state.record else "",
    }


def _describe(state: FolderState, advice: str) -> str:
    if state.state == "absent":
        return f"absent; {advice}"
    if state.state == "incomplete":
        return f"incomplete, {state.size_bytes / 1e9:.2f} GB: {state.detail}; {advice}"
    origin = f"revision {state.record.revision[:12]} from {state.record.source}" if state.record else "revision unknown"
    return f"complete, {state.size_bytes / 1e9:.2f} GB, {origin}, in {state.folder}"


def _ready(engine: str) -> str:
    """Whether the packages of an embedded engine are installed."""
    if engine != "kokoro":
        return "ready"
    needed = ("onnxruntime", "misaki", "hibari", "jieba", "pypinyin", "cn2an")
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    return f"missing packages: {', '.join(missing)}; install cosyvoice-batch again" if missing else "ready"
