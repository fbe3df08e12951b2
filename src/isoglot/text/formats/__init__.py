"""File formats of text: a reader and a writer each."""
