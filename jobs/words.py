"""Word boundaries inside Han text: pkuseg where its model is on this machine, else rjieba (dictionary in its wheel)."""

from __future__ import annotations

import functools
import importlib.metadata
import logging
import os
import threading
from pathlib import Path
from typing import Protocol

from jobs.errors import EnvironmentFault
from jobs.pull import PULL_COMMAND, pkuseg_state, verify_pkuseg

log = logging.getLogger(__name__)

MODEL_FOLDER_VARIABLE = "COSYVOICE_BATCH_PKUSEG"
BLOCK_CHARS = 2_000
"""pkuseg takes some 350 bytes of memory a character, so a run without punctuation is fed in blocks."""
OVERLAP_CHARS = 30
"""The last words of a block lack their right context; they are cut again with the next block."""


class WordBreaker(Protocol):
    """Finds the words of a run of Han text."""

    @property
    def name(self) -> str:
        """For the report: which segmenter this is."""
        ...

    @property
    def degraded(self) -> str | None:
        """Why this is only the fallback, and what to do about it; None for the real thing."""
        ...

    def cuts(self, han: str) -> list[int]:
        """Offsets at which words start, ascending, without 0."""
        ...


def default_model_folder() -> Path:
    """Where `models pull pkuseg` puts the model: the environment variable if set, else the user's data folder."""
    named = os.environ.get(MODEL_FOLDER_VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_data_dir("cosyvoice-batch", appauthor=False)) / "pkuseg"


def open_word_breaker(folder: Path | None) -> WordBreaker:
    """pkuseg with the model in `folder`, else rjieba with `degraded` set. Loads nothing until words are asked for."""
    if folder is None:
        return RjiebaBreaker(f"no pkuseg model was given: words of over-long clauses come from rjieba; {PULL_COMMAND}")
    state = pkuseg_state(folder)
    if state.state == "present":
        return _pkuseg(folder.absolute())
    return RjiebaBreaker(f"{state.describe()}: words of over-long clauses come from rjieba; {PULL_COMMAND}")


@functools.cache
def _pkuseg(folder: Path) -> PkusegBreaker:
    """One instance a process: it holds 0.85 GB once it is loaded."""
    return PkusegBreaker(folder)


class PkusegBreaker:
    """pkuseg's `mixed` model through spacy-pkuseg, one instance, loaded at the first question (3 s, 0.85 GB)."""

    degraded: str | None = None

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._segmenter: _Segmenter | None = None
        self._lock = threading.Lock()
        self.name = f"pkuseg (mixed), spacy-pkuseg {importlib.metadata.version('spacy-pkuseg')}"

    def cuts(self, han: str) -> list[int]:
        segmenter = self._load()
        found: list[int] = []
        start = 0
        while start < len(han):
            block = han[start : start + BLOCK_CHARS]
            words = align(block, segmenter.cut(block))
            if start + len(block) == len(han):
                found.extend(start + offset for offset in words)
                break
            sure = [offset for offset in words if offset <= len(block) - OVERLAP_CHARS] or [len(block)]
            found.extend(start + offset for offset in sure)
            start += sure[-1]
        return found

    def _load(self) -> _Segmenter:
        with self._lock:
            if self._segmenter is None:
                verify_pkuseg(self._folder)
                import spacy_pkuseg

                log.info("loading the pkuseg model from %s", self._folder)
                # An absolute folder: any of the model *names* would make this constructor download at run time.
                try:
                    self._segmenter = spacy_pkuseg.pkuseg(str(self._folder))
                except (OSError, ValueError, KeyError, AssertionError) as error:
                    raise EnvironmentFault(
                        f"the pkuseg model in {self._folder} does not load ({error}); delete it and {PULL_COMMAND}"
                    ) from error
            return self._segmenter


class RjiebaBreaker:
    """jieba's dictionary and HMM in Rust; no model to fetch, rougher than pkuseg on names and rare words."""

    def __init__(self, degraded: str) -> None:
        self.degraded: str | None = degraded
        self.name = f"rjieba {importlib.metadata.version('rjieba')}"

    def cuts(self, han: str) -> list[int]:
        import rjieba

        return align(han, rjieba.cut(han))


class _Segmenter(Protocol):
    def cut(self, text: str) -> list[str]: ...


def align(text: str, words: list[str]) -> list[int]:
    """Starts of `words` in `text`, without 0. Segmenters drop white space, so a word is sought behind the last one."""
    offsets: list[int] = []
    position = 0
    for word in words:
        start = text.find(word, position)
        if start < 0:
            raise ValueError(f"the segmenter returned {word!r}, which is not in the rest of its input")
        if start > 0:
            offsets.append(start)
        position = start + len(word)
    return offsets
