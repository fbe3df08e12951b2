"""The thumbnail study, which the demo runs."""
