"""Two directions of a whole bitext made one, in one compiled loop."""

from __future__ import annotations

import numpy as np

from isoglot.core.compiled import compiled


@compiled
def merge(
    forward: np.ndarray,
    backward: np.ndarray,
    source_starts: np.ndarray,
    target_starts: np.ndarray,
    grow: bool,
    final: bool,
    union: bool,
    longest: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two directions made one, all sentences at once; what :func:`isoglot.align.symmetry.symmetrise` does with sets.

    Args:
        forward: The source place of each target word, or -1.
        backward: The target place of each source word, or -1.
        source_starts: Where sentences begin (S + 1).
        target_starts: Likewise.
        grow: Whether neighbors are added to the intersection.
        final: Whether links between words without any are added then.
        union: Everything either has.
        longest: The longest sentence.

    Returns:
        Where the links of each sentence begin (S + 1), and the source and the target place of each link, in order.
    """
    link_starts = np.zeros(len(source_starts), np.int64)
    sources = np.empty(len(forward) + len(backward), np.int32)
    targets = np.empty(len(forward) + len(backward), np.int32)
    one = np.zeros((longest, longest), np.uint8)  # 1 forward, 2 backward, 4 chosen
    linked_source = np.zeros(longest, np.bool_)
    linked_target = np.zeros(longest, np.bool_)
    count = 0
    for s in range(len(source_starts) - 1):
        m, n = source_starts[s + 1] - source_starts[s], target_starts[s + 1] - target_starts[s]
        one[:m, :n] = 0
        linked_source[:m] = False
        linked_target[:n] = False
        for j in range(n):
            i = forward[target_starts[s] + j]
            if i >= 0:
                one[i, j] |= 1
        for i in range(m):
            j = backward[source_starts[s] + i]
            if j >= 0:
                one[i, j] |= 2
        for i in range(m):
            for j in range(n):
                if one[i, j] == 3 or (union and one[i, j]):
                    one[i, j] |= 4
                    linked_source[i] = linked_target[j] = True
        added = grow
        while added:
            added = False
            for i in range(m):
                for j in range(n):
                    if not one[i, j] & 4:
                        continue
                    for a, b in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                        x, y = i + a, j + b
                        if x < 0 or y < 0 or x >= m or y >= n or not one[x, y] or one[x, y] & 4:
                            continue
                        if not (linked_source[x] and linked_target[y]):
                            one[x, y] |= 4
                            linked_source[x] = linked_target[y] = added = True
        if final:
            for direction in (1, 2):
                for i in range(m):
                    for j in range(n):
                        if one[i, j] & direction and not linked_source[i] and not linked_target[j]:
                            one[i, j] |= 4
                            linked_source[i] = linked_target[j] = True
        for i in range(m):
            for j in range(n):
                if one[i, j] & 4:
                    sources[count], targets[count] = i, j
                    count += 1
        link_starts[s + 1] = count
    return link_starts, sources[:count].copy(), targets[:count].copy()
