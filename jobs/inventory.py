"""What of the models is on this machine."""

from __future__ import annotations

import importlib.util

from cosyvoice.catalog import ENGINES
from jobs.pull import pkuseg_state
from jobs.words import default_model_folder


def models() -> list[dict[str, str]]:
    """Engines and segmenter models with their state, as rows for a table."""
    rows = [
        {
            "name": facts.name,
            "what": facts.title,
            "state": "needs --model FOLDER" if facts.needs_model else _ready(facts.name),
        }
        for facts in ENGINES.values()
    ]
    state = pkuseg_state(default_model_folder()).describe()
    return [*rows, {"name": "pkuseg", "what": "Chinese word boundaries", "state": state}]


def _ready(engine: str) -> str:
    """Whether the packages of an embedded engine are installed."""
    if engine != "kokoro":
        return "ready"
    needed = ("onnxruntime", "misaki", "hibari_tts", "jieba", "pypinyin", "cn2an")
    missing = [package for package in needed if importlib.util.find_spec(package) is None]
    return f"missing packages: {', '.join(missing)}; install cosyvoice-batch again" if missing else "ready"
