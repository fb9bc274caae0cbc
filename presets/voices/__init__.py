"""Stored voices as data: one TOML each, with its style table or its reference audio beside it."""
