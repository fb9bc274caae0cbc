"""A batch as data, and the work around the model. Knows no terminal; only `worker.py` and `devices.py` meet an engine."""
