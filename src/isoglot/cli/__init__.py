"""The command line: entry point, shared options and ``verbs/``, without logic of its own or heavy imports on top."""
