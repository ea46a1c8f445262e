"""Rows of networks whose structure is data: trees, and sentences of any length, as vertex functions of
models/zoo. A call of either side is a pass over some batches, with a training step for each; figures
are trees or words a second. Ours finds the order of the vertices within the step; of the peer there
are two, with batches that were arranged for it ahead of time, and arranging them in the step, which
is told beside.
"""
import dataclasses

from rows import data
from rows.row import MODELS, ZOO, Row
from measure.process import Missing

GROUPS = {  # must, must_tuned, stretch
    "Tree-LSTM": (2.0, 2.0, 4),
    "child-sum Tree-LSTM": (2.0, 2.0, 4),
    "Tree-FC": (1.5, 1.5, None),
    "Tree-FC leaves": (None, None, None),
    "Var-LSTM": (1.2, 1.2, 2),
    "Fixed-LSTM": (1.0, 1.0, 1.5),
    "levels over serial": (1.0, 1.0, None),
    "second thread": (1.5, 1.5, 1.8),
    "ablation": (1.0, 1.0, None),
    "batches of kinds": (None, None, None),
    "reductions by keys": (0.77, 0.77, None),
    "lists over places": (1.0, 1.0, None),
    "edges as vertices": (1.0, 1.0, None),
    "shares of a step": (None, None, None),
}
# How many times DyNet's trees or words a second ours must reach, and a stretch; DyNet runs beside ours.
DYNET = {
    **{f"{kind} batch {batch}": (3.2, None) for kind in ("Tree-LSTM", "child-sum Tree-LSTM")
       for batch in (1, 16, 64)},
    "Tree-FC 256 leaves hidden 64": (3.2, 6),
    "Tree-FC 256 leaves hidden 256": (1.6, 2.5),
    "Tree-FC 256 leaves hidden 512": (1.65, None),
}
PEERS, BY_HAND = ("torch levels",), ("torch arranging", "dynet")
CONSTRUCTION, MOVES = 0.02, 0.08  # of a step, at most
TREES = {1: 128, 16: 512, 64: 1024}  # of a pass, by the batch
BATCHES = tuple(TREES)


def known(row, common=()):
    """With sizes that follow from data, and options of all rows."""
    return dataclasses.replace(row, baseline=(*common, *row.baseline),
                               options=(*common, *row.options),
                               defines={k: v() if callable(v) else v for k, v in row.defines.items()})


def versions(rows, common=()):
    """Rows that compare two versions of the compiler, if their data is there."""
    found = []
    for row in rows:
        try:
            if row.peers == PEERS:
                found.append(dataclasses.replace(known(row, common), peers=(), by_hand=()))
        except Missing:
            pass
    return found


def row(name, group, model, workload, count, threads, *, of="trees", peers=PEERS, lr=0.001,
        by_hand=None, **more):
    by_hand = BY_HAND if by_hand is None and peers == PEERS else by_hand or ()
    return Row(name, group, f"training steps over all {of}", f"{ZOO}{model}.expr", "step",
               peers, threads, workload=workload, of=of, count=count, by_hand=by_hand,
               side="dynamic_{}", arguments=dict(torch=dict(what=model, lr=lr), dynet=(model, lr)),
               **more)


def tree_lstm(name, group, batch, threads, model="tree_lstm", hidden=128, trees="sst", **more):
    count = TREES.get(batch, 4 * batch)
    return row(name, group, model, (trees, batch, count), count, threads,
               defines=dict(WORDS=data.sst_words if trees == "sst" else 20000, E=128,
                            D=hidden), **more)


def tree_fc(name, group, leaves, hidden, threads, **more):
    return row(name, group, "tree_fc", ("complete", leaves, 64, hidden), 128, threads,
               defines=dict(D=hidden), lr=0.01, **more)


def chain(name, group, maker, words, hidden, threads, embedded, batch=64, count=4, **more):
    """The classifier has as many classes as there are words."""
    return row(name, group, "chain_lstm", (maker, words, batch, count), 0, threads, of="words",
               defines=dict(WORDS=words, E=embedded, D=hidden), **more)


def networks(threads):
    for batch in BATCHES:
        yield tree_lstm(f"Tree-LSTM batch {batch}", "Tree-LSTM", batch, threads)
    for batch in BATCHES:
        yield tree_lstm(f"child-sum Tree-LSTM batch {batch}", "child-sum Tree-LSTM", batch, threads,
                        model="tree_lstm_sum")
    for hidden in (64, 256, 512):
        yield tree_fc(f"Tree-FC 256 leaves hidden {hidden}", "Tree-FC", 256, hidden, threads)
    for leaves in (32, 64, 128, 512, 1024):
        yield tree_fc(f"Tree-FC {leaves} leaves hidden 64", "Tree-FC leaves", leaves, 64, threads)
    for group, maker in (("Var-LSTM", "sentences"), ("Fixed-LSTM", "pieces")):
        for words, embedded, hidden in ((256, 256, 256), (256, 512, 512), (10000, 128, 256)):
            yield chain(f"{group} hidden {hidden} of {words} words", group, maker, words, hidden,
                        threads, embedded)


def comparisons(threads, serial):
    """Ours against itself: vertices one after the other, one thread."""
    if serial:
        for trees in ("sst", "random"):
            for batch in BATCHES:
                kind = "" if trees == "sst" else " of random trees"
                yield tree_lstm(f"levels: Tree-LSTM batch {batch}{kind}", "levels over serial", batch,
                                threads, trees=trees, peers=("baseline",), baseline=serial)
        yield tree_fc("levels: Tree-FC 256 leaves", "levels over serial", 256, 64, threads,
                      peers=("baseline",), baseline=serial)
        for hidden in (64, 256):
            yield chain(f"levels: LSTM hidden {hidden} batch 1 of a chain", "levels over serial",
                        "pieces", 256, hidden, threads, hidden, batch=1, count=64,
                        peers=("baseline",), baseline=serial)
    for batch in (16, 64):
        yield tree_lstm(f"two threads: Tree-LSTM batch {batch}", "second thread", batch, 2,
                        peers=("one thread",))
    yield tree_fc("two threads: Tree-FC 256 leaves hidden 256", "second thread", 256, 256, 2,
                  peers=("one thread",))


def ablation(threads, switches):
    """Each optimization left out alone, and all of them: the time without it over the time with it."""
    for name, options in switches.items():
        for hidden in (64, 128, 256):
            yield tree_lstm(f"without {name}: Tree-LSTM hidden {hidden}", "ablation", 64, threads,
                            hidden=hidden, peers=("baseline",), baseline=options)
        for hidden in (64, 512):
            yield tree_fc(f"without {name}: Tree-FC hidden {hidden}", "ablation", 256, hidden,
                          threads, peers=("baseline",), baseline=options)
        for hidden in (64, 256):
            yield chain(f"without {name}: Fixed-LSTM hidden {hidden}", "ablation", "pieces", 256,
                        hidden, threads, hidden, peers=("baseline",), baseline=options)


def kinds(threads):
    """Batches of vertices of one kind, beside those of a level: the time of these over that of the former."""
    for leaves, hidden, batch in ((32, 64, 1), (32, 64, 64), (256, 64, 64), (256, 256, 1),
                                  (256, 256, 64)):
        r = row(f"kinds: two cells {leaves} leaves hidden {hidden} batch {batch}",
                "batches of kinds", "two_cells", ("complete", leaves, batch, hidden, 2, 2),
                2 * batch, threads, peers=("baseline",), defines=dict(D=hidden),
                options=("--batches=kind",), baseline=())
        yield dataclasses.replace(r, model=f"{MODELS}recurrences/two_cells.expr")


def edges(threads):
    """Attention over edges that the data list, as it is written down: over the best form, which has sums alone."""
    for name, form in (("maximum", 0), ("logsumexp", 1)):
        r = row(f"edges: attention by {name}", "reductions by keys", "gat",
                ("edges", 8000, 80000, 32, 16), 2 * 80000, threads, of="edges",
                peers=("baseline",), options=(f"--define=FORM={form}",),
                baseline=("--define=FORM=2",))
        yield dataclasses.replace(r, model=f"{MODELS}recurrences/gat.expr")


def lists(threads):
    """Children in lists: the time of so many places for them over that of lists."""
    for places in (2, 8, 32):
        r = row(f"lists: beside {places} places", "lists over places", "lists",
                ("listed", 64, 64, 64, places), 128, threads, peers=("baseline",),
                defines=dict(K=places), options=("--define=FORM=1",), baseline=("--define=FORM=0",))
        yield dataclasses.replace(r, model=f"{MODELS}recurrences/lists.expr")


def typed(threads):
    """Attention with a matrix for each type of edge: the time of edges as vertices over that of reductions for each edge."""
    for leaves, batch in ((64, 1), (64, 64)):
        r = row(f"lists: typed edges batch {batch}", "edges as vertices", "typed_edges",
                ("typed", leaves, batch, 64, 4), 2 * batch, threads, peers=("baseline",),
                options=("--define=FORM=0",), baseline=("--define=FORM=1",))
        yield dataclasses.replace(r, model=f"{MODELS}recurrences/typed_edges.expr")


def shares(threads):
    for leaves in (32, 64, 128, 256, 512, 1024):
        yield tree_fc(f"shares: Tree-FC {leaves} leaves", "shares of a step", leaves, 64, threads,
                      peers=(), what="shares")
    for batch in (*BATCHES, 256):
        yield tree_lstm(f"shares: Tree-LSTM batch {batch}", "shares of a step", batch, threads,
                        peers=(), what="shares")


def together(switches):
    """One more switch, of all of them: options of one name have all values, if they have any."""
    values = {}
    for option in (o for options in switches.values() for o in options):
        name, equals, value = option.partition("=")
        values.setdefault(name + equals, []).append(value)
    return {**switches, "all of these": tuple(k + ",".join(v) for k, v in values.items())}


def rows(threads, serial=(), switches=None):
    return [*networks(threads), *comparisons(threads, serial),
            *ablation(threads, together(switches or {})), *kinds(threads), *edges(threads),
            *lists(threads), *typed(threads), *shares(threads)]
