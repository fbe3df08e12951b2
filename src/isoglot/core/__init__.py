"""Foundations: errors, configs, files, run records, tables, progress, devices, seeds, language codes.

Nothing here depends on what a language model is.
"""
