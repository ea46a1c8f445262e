"""JAX's side of a comparison: a network's training step, jitted whole, its tensors donated."""
import os

from peers import peer

SPEC = peer.spec()
ON_GPU = SPEC.get("device") == "cuda"
if not ON_GPU:
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # others measure beside it
try:
    import jax
    jax.config.update("jax_default_matmul_precision", "float32")  # not tf32, as the others
    if ON_GPU and jax.default_backend() != "gpu":
        peer.missing("JAX finds no CUDA device")
except ImportError as e:
    peer.missing(e)
import jax.numpy as jnp
from peers import jax_ops
import numpy as np
from networks import NETWORKS, Net, sizes_of

TYPES = {"F32": np.float32, "I32": np.int32}


def load(path):
    return {
        name: np.frombuffer(data, TYPES[dtype]).reshape(shape)
        for name, (dtype, shape, data) in peer.tensors(path).items()
        if dtype in TYPES
    }


class Traced(Net):
    """A net over tensors of our side: what neo stacks are tensors of their own. `made`: tensors by
    their own names, filled when they are asked for the first time, if it is empty."""

    def __init__(self, sizes, given, inputs, params, states):
        super().__init__(jax_ops, sizes)
        self.given, self.inputs, self.params, self.states = given, inputs, params, states
        self.new = dict(states)

    def input(self, name, shape, *_):
        return self.inputs[name]

    def ints(self, name, shape, bound):
        return self.inputs[name]

    def own(self, made, name):
        key = f"{name}.{self.round[0]}" if self.round else name
        if key not in made:
            t = self.given[name]
            with jax.ensure_compile_time_eval():  # within eval_shape() below, too
                made[key] = jnp.array(t[self.round[0]] if self.round else t)
        return made[key]

    def param(self, name, shape, *_):
        return self.own(self.params, name)

    def state(self, name, shape, value):
        return self.own(self.states, name)

    def update(self, name, value):
        self.new[f"{name}.{self.round[0]}" if self.round else name] = value


def network(spec):
    """A training step, which returns the loss before it, on a GPU perhaps before it is computed; and a function
    that waits for all steps."""
    f, _, mu, decay = NETWORKS[spec["what"]]
    sizes = {**sizes_of(spec["what"], spec["defines"]), "B": spec["batch"]}
    given = load(spec["folder"] + "/params.safetensors")
    inputs = {k: jnp.array(v) for k, v in load(spec["folder"] + "/inputs.safetensors").items()}
    lr, params, states = spec["lr"], {}, {}

    def shapes(_):
        return f(Traced(sizes, given, inputs, params, states))["loss"]

    jax.eval_shape(shapes, 0)
    velocity = {k: jnp.zeros_like(v) for k, v in params.items()} if mu else {}

    def loss(params, states, inputs):
        net = Traced(sizes, given, inputs, params, states)
        return f(net)["loss"], net.new

    def step(params, states, velocity, inputs):
        (value, states), g = jax.value_and_grad(loss, has_aux=True)(params, states, inputs)
        if decay:
            g = {k: g[k] + decay * params[k] for k in g}
        if mu:
            g = velocity = {k: mu * velocity[k] + g[k] for k in g}
        return value, {k: params[k] - lr * g[k] for k in params}, states, velocity

    compiled = jax.jit(step, donate_argnums=(0, 1, 2))

    def run():
        nonlocal params, states, velocity
        value, params, states, velocity = compiled(params, states, velocity, inputs)
        return value if ON_GPU else float(value)

    return run, lambda: jax.block_until_ready((params, states, velocity))


def main():
    run, wait = network(SPEC)
    losses, seconds = peer.timed(lambda: float(run()), 2)
    about = {"losses": losses, "first_s": seconds, "version": "jax " + jax.__version__}
    peer.serve(run, about, wait)


main()
