"""What a row of `tools/bench cpu` is: one unit of work, and the peers that do the same."""
import dataclasses

from peers import OLD_JAX

TORCH = ("torch eager", "torch compile")
IMAGES = TORCH + ("torch channels_last",)
ALL = TORCH + ("jax", OLD_JAX)

BENCHMARKS, ZOO = "tools/benchmarks/", "models/zoo/"


@dataclasses.dataclass
class Row:
    name: str
    group: str
    unit: str  # of work
    model: str  # path of the .expr
    entries: str
    peers: tuple  # names
    threads: int = 1
    what: str = "time"  # or "compile", "memory", "rounds", "search"
    defines: dict = dataclasses.field(default_factory=dict)
    batch: int = 0  # replaces the model's run-time size B
    options: tuple = ()  # of neoc compile
    by_hand: tuple = ()  # peers that are told, not counted
    baseline: tuple = ()  # those of the peer "baseline"
    settings: dict = dataclasses.field(default_factory=dict)
    arguments: dict = dataclasses.field(default_factory=dict)  # of a peer, by its first word
    side: str = "{}_side.py"  # program of a peer in Python, of its first word
    features: tuple = ()  # of which the processor must have one
    bytes: int = 0  # that the work moves at least
    rounds: tuple = ()  # few and many, of a model whose size T they are
    kept_bytes: int = 0  # of each round, that its memory must hold
    must: float = None
    worst: float = None
    limit_s: float = None
    stretch_s: float = None
    most: int = None  # measurements
    bandwidth: float = None
