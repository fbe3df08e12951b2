"""Repair of an encoder whose languages are poorly aligned: fixes without training, chosen by cross-validation."""
