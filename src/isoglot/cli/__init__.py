"""The command line: one thin file per verb, no logic of its own.

Nothing heavy is imported at the top of these files: ``isoglot --help`` answers in a blink.
"""
