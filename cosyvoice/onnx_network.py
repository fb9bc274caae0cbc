"""One ONNX network on the CPU, with errors for the person who has the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from cosyvoice.engine import ModelMissing


class OnnxNetwork:
    """A loaded network; its inputs go by their order."""

    def __init__(self, path: Path, threads: int) -> None:
        """Raises ModelMissing where the file cannot be loaded."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._path = path
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library's errors have no common class of their own
            reason = str(error).strip().splitlines()[0]
            raise ModelMissing(f"{path} cannot be loaded ({reason}): download it again.") from error

    def run(self, *inputs: Any) -> Any:
        """The first output. Raises ModelMissing where the network takes another number of inputs."""
        names = [entry.name for entry in self._session.get_inputs()]
        if len(names) != len(inputs):
            raise ModelMissing(f"{self._path} takes {len(names)} inputs, expected {len(inputs)}: wrong file?")
        return np.asarray(self._session.run(None, dict(zip(names, inputs, strict=True)))[0])
