"""Options of maps and normalizations with their defaults, as help texts say them; importing this is cheap."""

MAP_OPTIONS = {
    "ridge": "penalty=1.0",
    "cca": "components=None, penalty=0.0",
    "rcsls": "rounds=10, learning_rate=1.0, neighborhood=10, cutoff=200000, constraint=none",
    "refinement": "rounds=5, cutoff=15000, neighborhood=10",
    "self-learning": "final=auto, reweight=0.5, keep=0.1, growth=2.0, patience=5, threshold=0.0005, "
    "early=4000, cutoff=10000, neighborhood=10, rounds=2000",
    "mini-vec2vec": "starts=3, sample=2000, neighborhood=10, runs=30, clusters=20, restarts=30, neighbors=50, "
    "rounds=100, batch=1000, smoothing=0.5, fine_clusters=500, cutoff=10000",
}
"""The options of each map with their defaults, as the help says them."""
MAP_OPTIONS["vecmap"] = f"{MAP_OPTIONS['self-learning']}, starts=3, sample=2000"
STEP_OPTIONS = {"iterative": "tolerance=1e-05, rounds=200"}
"""Those of each normalization."""
