"""A new language in an existing encoder: new rows, a phase with all else frozen, and a watch on the old languages."""
