"""A simulated accelerator that an unmodified tool takes for an NPU or an MLU, with faults on demand: `machine.py`."""
