"""The ground floor: errors, configs, files, run records, progress, devices, seeds, language codes.

Nothing here knows what a language model is. Every module is light to import: torch and NumPy are
imported inside the functions that need them.
"""
