"""Ratios of medians of a row's stored times, peer time over ours, and how far they may
be trusted. Nothing else that a result has is read for it, such as the ratio that a bench wrote."""
import dataclasses
import statistics

OURS = "ours default"
NOT_PEERS = ("ours", "memory")  # first words of sides: our variants, and plain copies of memory
KEYS = {"us": 1.0, "wall_s": 1e6, "memory_kb": 1.0}  # what a side stores, and its factor


@dataclasses.dataclass(frozen=True)
class Ratio:
    peer: str
    value: float
    low: float  # the peer's lower quartile over our upper one
    high: float  # the peer's upper quartile over our lower one

    def verdict(self):
        """Nothing is faster where the middle halves of both sides' rounds overlap."""
        if self.low > 1:
            return "faster"
        return "slower" if self.high < 1 else "even"


def values(result, side):
    """Times of a side, one for each round, or its one figure; none where it has none."""
    stored = result["times"].get(side, {})
    for key, factor in KEYS.items():
        if key in stored:
            found = stored[key]
            return [factor * v for v in (found if isinstance(found, list) else [found])]
    return []


def quartiles(numbers):
    if len(numbers) < 3:
        return min(numbers), max(numbers)
    first, _, third = statistics.quantiles(numbers, n=4, method="inclusive")
    return first, third


def ratio(result, peer):
    """The ratio of the medians; None where a side was not measured."""
    ours, theirs = values(result, OURS), values(result, peer)
    if not ours or not theirs:
        return None
    value = statistics.median(theirs) / statistics.median(ours)
    (our_low, our_high), (low, high) = quartiles(ours), quartiles(theirs)
    return Ratio(peer, value, low / our_high, high / our_low)


def all_of(result):
    """The ratios of all peers that count; the fastest peer's, which is the least, comes first."""
    by_hand = result.get("by_hand", {})
    peers = [p for p in result["times"] if p.split()[0] not in NOT_PEERS and p not in by_hand]
    found = [ratio(result, peer) for peer in peers]
    return sorted((r for r in found if r), key=lambda r: r.value)


def median(result, side=OURS):
    found = values(result, side)
    return statistics.median(found) if found else None
