"""The verbs: one thin module for each group of them, without logic of its own."""
