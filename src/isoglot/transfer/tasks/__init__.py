"""Tasks: how examples are read, labeled and scored."""
