"""The command line: the entry point, the options that verbs share, and ``verbs/``, without logic of its own.

Nothing heavy is imported at the top of these files: ``isoglot --help`` answers in a blink.
"""
