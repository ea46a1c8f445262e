"""A row, on the processor or a GPU: one unit of work, and the peers that do the same. Below, functions that
make rows of both."""
import dataclasses

from peers.pythons import OLD_JAX

TORCH = ("torch eager", "torch compile")
IMAGES = TORCH + ("torch channels_last",)
ALL = TORCH + ("jax", OLD_JAX)

MODELS, ZOO, PROGRAMS = "tools/benchmarks/models/", "models/zoo/", "tests/gpu/"


@dataclasses.dataclass
class Row:
    name: str
    group: str
    unit: str  # of work
    model: str  # path of the .expr
    entries: str
    peers: tuple = ()  # names
    threads: int = 1
    what: str = "time"  # or "compile", "memory", "rounds", "search", "shares", "values"
    defines: dict = dataclasses.field(default_factory=dict)
    batch: int = 0  # replaces the model's run-time size B
    options: tuple = ()  # of neoc compile
    settings: dict = dataclasses.field(default_factory=dict)
    arguments: dict = dataclasses.field(default_factory=dict)  # of a peer, by its first word
    bytes: int = 0  # that the work moves at least
    # on the processor
    by_hand: tuple = ()  # peers that are told, not counted
    baseline: tuple = ()  # options of the peer "baseline"
    side: str = "network_{}"  # module of a peer in Python, of its first word
    features: tuple = ()  # of which the processor must have one
    rounds: tuple = ()  # few and many, of a model whose size T they are
    kept_bytes: int = 0  # of each round, that its memory must hold
    must: float = None
    worst: float = None
    limit_s: float = None
    stretch_s: float = None
    most: int = None  # measurements
    bandwidth: float = None
    # over trees and sequences: data.py's maker and its arguments, what a pass counts, how many
    workload: tuple = ()
    of: str = "trees"
    count: int = 0  # 0: as many as vertices
    # on a GPU
    part: int = 0  # of PARTS in gpu.py
    musts: dict = dataclasses.field(default_factory=dict)  # peer or "best" -> (must, stretch)
    level: str = ""  # of the target, where it is another one than the bench's
    reference: str = ""  # gpu_reference.h; without one, beside a processor's library:
    measure: str = "element"  # gpu/values.py
    agree: float = 1e-3
    samples: int = 2048  # of a tensor
    paths: tuple = ()  # set when it is prepared: how its products are made

    def flags(self):
        """Options of every command of neoc: the row's own, and the model's sizes."""
        sizes = {**self.defines, **({"B": self.batch} if self.batch else {})}
        return [*self.options, *(f"--define={name}={value}" for name, value in sizes.items())]

    def folder(self):
        """The folder of the row's prepared files."""
        return "".join(c if c.isalnum() else "_" for c in self.name)

    def makes_products(self):
        return bool(self.reference.startswith("product") or PROGRAMS in self.model)

    def trains(self):
        return self.entries == "step"


def network(model, group, peers, batch, *, entry="step", name=None, lr=0.002, defines=None, **more):
    """A training step of a model of the zoo, or its inference."""
    step, defines = entry == "step", defines or {}
    arguments = dict(what=model, entry=entry, defines=defines, batch=batch, lr=lr)
    return Row(name or f"{model} batch {batch}", group, "training step" if step else "inference",
               f"{ZOO}{model}.expr", entry, peers, batch=batch, defines=defines,
               settings=dict(lr=lr) if step else {},
               arguments=dict(torch=arguments, jax=arguments), **more)


def convolution(title, group, layer, batch, entry, peers, **more):
    """`layer`: channels, size, filters, filter size, stride, padding."""
    c, h, k, r, stride, pad = layer
    out = (h + 2 * pad - r) // stride + 1
    return Row(f"{title} {c}x{h}x{k} {r}x{r}/{stride} {entry}", group,
               f"{2e-9 * batch * k * out**2 * c * r**2:.4g} GFLOP", MODELS + "conv.expr", entry, peers,
               defines=dict(B=batch, C=c, H=h, K=k, R=r, STRIDE=stride, PAD=pad), **more)


def memory_bound(sizes, **more):
    """Bytes are the least that one call moves: each matrix that is read, once, each that is written,
    once. X and D in, the value and X's gradient out make four; of cross entropy XL and its gradient.
    A channel of the batch norm's images, or a row, stays in a cache between passes over it."""
    wide = sizes.get("R", 16384) * sizes.get("C", 1024)
    image = sizes.get("N", 64) * sizes.get("K", 64) * sizes.get("H", 56)**2
    words = sizes.get("L", 4096)**2
    for name, args, seed, elements, passes in [
        ("softmax", ["X"], "D", wide, 4), ("layer_norm", ["X", "g", "b"], "D", wide, 4),
        ("batch_norm", ["XC", "gc", "bc"], "DC", image, 4), ("gelu", ["X"], "D", wide, 4),
        ("cross_entropy", ["XL", "YL"], "", words, 2)]:
        yield Row(f"{name} forward and backward", "memory bound",
                  f"{4e-6 * elements * passes:.4g} MB", MODELS + "memory.expr", f"{name}_fb", TORCH,
                  defines=sizes, bytes=4 * elements * passes,
                  arguments=dict(torch=dict(what=name, args=args, seed=seed)), **more)
