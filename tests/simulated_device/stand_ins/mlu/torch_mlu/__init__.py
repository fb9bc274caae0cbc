"""A stand-in for torch_mlu: as in the real one's public source there is no entry point, it has to be imported by hand."""

from simulated_backend import register

register("mlu")
