"""Results as they are printed: lists of named facts, vocabularies, built-in languages, searches and studies."""
