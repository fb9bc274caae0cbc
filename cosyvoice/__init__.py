"""Text and a voice in, a waveform out, on one device. This folder knows no manifests, no run folders, no output files.

Shape letters used in every docstring here:
B batch, T text tokens, S speech tokens, M mel frames, N samples, D width, H heads.
"""

import os

# onnxruntime from 1.29 on reports its use to its maker over the network unless told not to before it is first imported
# (its Privacy.md). What people have read aloud is nobody's business; whoever wants to report sets the variable to 0.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
