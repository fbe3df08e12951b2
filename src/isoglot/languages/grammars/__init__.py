"""Grammars of the five built-in languages."""
