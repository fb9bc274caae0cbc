"""Profiles that ship with the program."""
