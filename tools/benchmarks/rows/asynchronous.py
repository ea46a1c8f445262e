"""Rows of asynchronous training: what `tools/bench async` measures, with what it must reach, and what the
paper measured (Gaunt, Johnson and others, "AMPNet: asynchronous model-parallel training for dynamic
neural networks", 2017)."""
import dataclasses

from rows.row import MODELS, ZOO

ASYNC = "models/async/"
HOPS = 14  # messages of hops.expr between nodes: seven forward, seven back


@dataclasses.dataclass
class Task:
    """A model and its data. `compiled`: options of neoc; `figure`: what tests count (right answers, or
    the mean of a loss or an error), and `target` its value at which training may end."""
    model: str
    compiled: tuple = ()
    batch: int = 1  # instances of the paper in one of ours
    every: int = 1  # instances after which an actor updates
    tested: int = 1  # answers of a test instance
    figure: str = "right"
    target: float = None
    epochs: int = 4
    speed_instances: int = 200  # of throughput
    paper: dict = dataclasses.field(default_factory=dict)  # instances a second by keys
    converged: str = ""  # what the paper says of epochs


TASKS = {
    "mnist": Task(ASYNC + "mnist.expr", batch=100, tested=100, target=97, epochs=5, speed_instances=100,
                  paper={1: 2076, 4: 6268}, converged="97 % after 3 epochs (1 key), 4 (4 keys)"),
    "list_reduction": Task(ASYNC + "list_reduction.expr", batch=100, tested=100, target=97, epochs=16,
                           paper={1: 13000, 16: 16000},
                           converged="97 % after 10 epochs (1 key), 9.5 (16 keys), 12 and 13 (2 and 4 "
                           "replicas: 35,000 and 71,000/s)"),
    "sentiment": Task(ASYNC + "sentiment.expr", every=50, figure="right", target=82, epochs=6,
                      speed_instances=400, paper={1: 102, 8: 222, 16: 258},
                      converged="82 % after 2 to 3 epochs, with pre-trained vectors"),
    "qm9": Task(ASYNC + "molecules.expr", every=100, figure="error", epochs=6,
                speed_instances=300, paper={1: 302, 4: 1007, 16: 1797},
                converged="an error of 4.6 after 76.5 epochs"),
    "wikiner": Task(ZOO + "tagger.expr", ("--define=TAGS=5", "--define=B=1"), every=20, figure="loss", epochs=2,
                    speed_instances=200, paper={1: 41, 4: 86, 32: 130}),
    "deduction": Task(ASYNC + "deduction.expr", batch=20, tested=20, target=100, epochs=5,
                      converged="not in the paper's last version"),
    "hops": Task(MODELS + "hops.expr", speed_instances=5000),
}


@dataclasses.dataclass
class Row:
    name: str
    what: str  # AsyncBench.measure_WHAT measures it
    task: str
    must: float = None  # at least
    most: float = None  # at most
    stretch: float = None
    group: str = "async"
    unit: str = "ratio"
    threads: int = 1
    keys: tuple = (1,)  # the ratio is that of the last one over the first
    options: dict = dataclasses.field(default_factory=dict)
    data: dict = dataclasses.field(default_factory=dict)
    peer: dict = dataclasses.field(default_factory=dict)


def virtual(name, task, keys, **more):
    return Row(name, "keys", task, keys=keys, **more)


def rows():
    mnist, small = dict(count=20000, tests=0), dict(batch=10, count=6000, tests=0)
    yield Row("one key over the step: mnist", "step", "mnist", must=0.95, data=mnist)
    yield virtual("virtual: mnist 4 keys over 1", "mnist", (1, 4), must=2.9, stretch=3.02, data=mnist)
    yield virtual("virtual: mnist 8 keys over 4", "mnist", (4, 8), most=1.05, data=mnist)
    yield virtual("virtual: list reduction 16 keys over 1", "list_reduction", (1, 16),
                  data=dict(count=20000, tests=0))
    for replicas, must, stretch in ((2, 1.8, 2.5), (4, 3.5, 5)):
        yield Row(f"virtual: list reduction {replicas} replicas over 1", "replicas", "list_reduction",
                  must=must, stretch=stretch, data=dict(count=20000, tests=0),
                  options=dict(replicas=replicas))
    yield virtual("virtual: sentiment 8 keys over 1", "sentiment", (1, 8), must=2.2, stretch=3,
                  data=dict(tests=0))
    yield virtual("virtual: sentiment 16 keys over 1", "sentiment", (1, 16), must=2.5,
                  data=dict(tests=0))
    yield virtual("virtual: qm9 4 keys over 1", "qm9", (1, 4), must=3.3, data=dict(tests=0))
    yield virtual("virtual: qm9 16 keys over 1", "qm9", (1, 16), must=5.9, data=dict(tests=0))
    yield virtual("virtual: wikiner 32 keys over 1", "wikiner", (1, 32), must=3, data=dict(tests=0))
    yield virtual("virtual: deduction 16 keys over 1", "deduction", (1, 16),
                  data=dict(count=2000, tests=0))
    for task, more in (("mnist", mnist), ("list_reduction", dict(count=20000, tests=0)),
                       ("deduction", dict(count=2000, tests=0))):
        yield Row(f"choice: {task.replace('_', ' ')}", "choice", task, data=more, unit="keys")
    for batch, more in ((100, mnist), (10, small)):
        yield Row(f"two threads over one: mnist batch {batch}", "threads", "mnist", must=1.8,
                  stretch=1.9, threads=2, data=more)
        yield Row(f"two threads over the step on two: mnist batch {batch}", "whole", "mnist",
                  must=1.0 if batch == 100 else 1.5, stretch=1.1 if batch == 100 else 2, threads=2,
                  data=more)
    for task, more in (("mnist", mnist), ("list_reduction", dict(count=20000, tests=0)),
                       ("deduction", dict(count=2000, tests=0)), ("sentiment", dict(tests=0)),
                       ("qm9", dict(tests=0)), ("wikiner", dict(tests=0))):
        yield Row(f"predicted: two threads of {task.replace('_', ' ')}", "predicted", task,
                  must=0.9, most=1.1, threads=2, data=more)
    yield Row("hop: a message between two threads", "hop", "hops", most=0.4, stretch=0.15, unit="us",
              threads=2, data=dict(count=5000))
    for what in ("gpipe", "1f1b", "ddp", "eager", "compile"):
        for batch, more, must in ((100, mnist, 4), (10, small, 8)):
            counts = what in ("gpipe", "1f1b")
            yield Row(f"peer: {what} batch {batch}", "peer", "mnist", must=must if counts else None,
                      threads=2, data=more,
                      peer=dict(what=what, batch=batch, microbatches=4 if batch % 4 == 0 else 5, seconds=4,
                                threads=2))
    for task, keys in (("mnist", (1, 4, 16)), ("list_reduction", (1, 4, 16)),
                       ("sentiment", (1, 8, 16)), ("deduction", (1, 4, 16)), ("qm9", (1, 4, 16)),
                       ("wikiner", (1, 4, 32))):
        yield Row(f"task: {task.replace('_', ' ')}", "epochs", task, keys=keys, unit="epochs",
                  options=dict(replicas=(2, 4)) if task == "list_reduction" else {})
