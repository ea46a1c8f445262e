"""neoc.jax: operators and models of neoc in JAX.

    mm = neoc.jax.op("C[i, j] = sum[k] A[i, k]*B[k, j]")
    C = jax.jit(mm)(A, B)
    jax.grad(lambda A: mm(A, B).sum())(A)

An operator is a function of arrays of jax. jit, grad, vjp, jvp, vmap, hessian, linearize,
checkpoint, scan, shard_map and jax.export take it as any function of jax; derivatives to any order
and batches are text that neoc compiles. It computes on the processor.
"""

from __future__ import annotations

from ._export import export
from ._front import Op, errors, op
from ._model import Module, module

__all__ = ["Module", "Op", "errors", "export", "module", "op"]
