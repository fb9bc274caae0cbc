"""Which utterances of different length share a padded batch."""

from __future__ import annotations

from collections.abc import Sequence


def buckets(lengths: Sequence[int], budget_frames: int) -> list[list[int]]:
    """Group indices into batches of at most `budget_frames` padded frames (rows x longest), in as few batches as
    possible, and among those with the least padding. A single length above the budget stands alone.

    Neighbours in length share a batch, so the search runs over cuts of the sorted order. Longest batch first.
    """
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    # best[n]: batches, padding and last cut for the n longest.
    best = [(0, 0, 0)]
    for end in range(1, len(order) + 1):
        options = []
        total = 0
        for start in range(end - 1, -1, -1):
            longest = lengths[order[start]]
            total += lengths[order[start]]
            rows = end - start
            if rows > 1 and rows * longest > budget_frames:
                break
            count, padding, _ = best[start]
            options.append((count + 1, padding + rows * longest - total, start))
        best.append(min(options))
    groups = []
    end = len(order)
    while end:
        start = best[end][2]
        groups.append(order[start:end])
        end = start
    return groups[::-1]
