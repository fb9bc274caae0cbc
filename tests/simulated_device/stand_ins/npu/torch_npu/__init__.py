"""A stand-in for torch_npu: like the real one it is loaded by `import torch` itself, through its entry point."""

from simulated_backend import register

register("npu")


def _autoload() -> None:
    """What torch calls; the import has done the work."""
