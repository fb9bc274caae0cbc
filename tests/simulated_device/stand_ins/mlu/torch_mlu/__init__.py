"""A stand-in for torch_mlu: like the real one (as far as its source is public) it has to be imported by hand."""

from simulated_backend import register

register("mlu")
