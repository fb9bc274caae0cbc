"""Voices and profiles as data files, and the one reader of them."""
