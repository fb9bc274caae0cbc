"""A batch as data, and the work around the model. Only `worker.py` and `devices.py` meet an engine."""
