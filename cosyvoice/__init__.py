"""Text and a voice in, a waveform out, on one device. This folder knows no manifests, no run folders, no output files.

Shape letters used in every docstring here:
B batch, T text tokens, S speech tokens, M mel frames, N samples, D width, H heads.
"""
