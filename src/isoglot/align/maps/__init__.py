"""Maps between two vector spaces: Procrustes and alternatives."""
