"""Options under which the same program must give the same: (name, options drawn for one run)."""

PASSES = ("simplify horizontal-fusion winograd simplify-gradients factor cse branches forward-copies levels "
          "sparse-rows split-sums infer-bounds distribute tile-recurrences skew checkpoint running-sums trip-counts peel-sums col2im "
          "polyphase normalize-loops channels-last rfactor rfactor-columns prepack recompute").split()
FUSIONS = "all inline prologue epilogue siblings sums rows columns nested grid concat cache".split()


def _subset(r):
    chosen = [p for p in PASSES if r.random() < 0.5]
    return ["--passes=" + ",".join(["autodiff"] + chosen)]


TABLE = [
    ("passes=", lambda r: ["--passes=autodiff"]),
    ("passes=subset", _subset),
    ("skip-pass", lambda r: ["--skip-pass=" + r.choice(PASSES)]),
    ("skip-passes", lambda r: ["--skip-pass=" + ",".join(r.sample(PASSES, r.randrange(2, 6)))]),
    ("no-fuse", lambda r: ["--no-fuse=" + r.choice(FUSIONS)]),
    ("no-fuse=all", lambda r: ["--no-fuse=all"]),
    ("threads", lambda r: ["--threads=" + r.choice(("1", "3"))]),
    ("memory=small", lambda r: ["--memory=small"]),
    ("memory=bytes", lambda r: ["--memory=" + r.choice(("100", "400", "1K", "5K"))]),
    ("unroll=1", lambda r: ["--unroll=1"]),
    ("proof-quota", lambda r: ["--proof-quota=" + r.choice(("1000", "1000", "100", "10"))]),
    ("batches=kind", lambda r: ["--batches=kind"]),
]

# Options that are tried only if they are named.
ASKED = [("check-facts", ["--check-facts"])]
