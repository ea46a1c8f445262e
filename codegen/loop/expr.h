/* Expressions of the loop IR: hash-consed nodes of one kernel, so that equal nodes are the same
 * node. Building folds integer constants as ir/build.c does; integer sums gather their constants on
 * the right (loop/expr.c).
 *
 * SELECT evaluates its condition and then one branch, LOADIF its condition and then either the
 * offset or the other value: an expression that is not evaluated accesses no memory. Elementwise
 * operators are the rows of ir/ops.def with the same meaning. Types: i64 for addresses, whose
 * arithmetic must not wrap; f16 and bf16 values compute in f32 and round at each operator (as
 * ops.def says).
 *
 * Nodes are in the kernel's arena and are never null. */
#pragma once
#include "ir/interp/interp.h"
#include "ir/ir.h"

typedef struct neo_kernel neo_kernel;

typedef enum {
  NEO_LX_CONST,  /* bits: f64 bits for float types, else int64 */
  NEO_LX_VAR,    /* attr: loop variable; i64 */
  NEO_LX_SIZE,   /* attr: a run-time size's number in the model (0-based); i64 */
  NEO_LX_KEY,    /* attr: 0 seed, 1 step, 2 call; i64 */
  NEO_LX_LOAD,   /* attr: buffer; arg 0: element offset */
  NEO_LX_LOADIF, /* attr: buffer; args: offset, condition (bool), value where it is false */
  NEO_LX_REG,    /* attr: register; args: indices */
  NEO_LX_RAND,   /* attr: site; arg 0: linear element; f32 or f64 */
  NEO_LX_FMA,    /* a*b + c in one rounding or two, so tests compare with a tolerance */
  NEO_LX_PAIR,   /* two bf16 as one i32, the first in the low half */
  NEO_LX_DOT,    /* c + a . b, a and b pairs, as codegen/loop/tile.h says */
  NEO_LX_OP      /* attr: neo_op (elementwise rows); args */
} neo_lx_kind;

typedef struct neo_lx neo_lx;
struct neo_lx { /* immutable; may be shared */
  uint8_t kind, type;
  uint8_t n;
  uint32_t attr;
  uint32_t id; /* from 0; arguments have lower ids */
  uint64_t bits;
  const neo_lx *arg[16];
};

const neo_lx *neo_lx_int(neo_kernel *k, int64_t x); /* i64 */
/* A constant of type t; a float is rounded to it, an integer is wrapped to it. */
const neo_lx *neo_lx_const(neo_kernel *k, neo_type t, neo_value v);
const neo_lx *neo_lx_var(neo_kernel *k, uint32_t var);   /* i64: a loop's variable */
const neo_lx *neo_lx_size(neo_kernel *k, uint32_t size); /* i64: a run-time size, by its number */
/* The seed, step or call number of the call (which: 0, 1, 2), i64. */
const neo_lx *neo_lx_key(neo_kernel *k, uint32_t which);
/* The element of a buffer at `offset`, which is i64 and counts elements. */
const neo_lx *neo_lx_load(neo_kernel *k, uint32_t buf, const neo_lx *offset);
/* The same if `cond` (bool) holds, else the value of `other`; nothing is loaded then. */
const neo_lx *neo_lx_loadif(neo_kernel *k, uint32_t buf, const neo_lx *offset, const neo_lx *cond,
                            const neo_lx *other);
/* An element of a register: n is the register's rank, one index for each dimension. */
const neo_lx *neo_lx_reg(neo_kernel *k, uint32_t reg, const neo_lx *const *index, size_t n);
/* A random number of type t for an element (i64) of a site of rand(). */
const neo_lx *neo_lx_rand(neo_kernel *k, neo_type t, uint32_t site, const neo_lx *element);
/* a*b + c, rounded once; its type is that of a. */
const neo_lx *neo_lx_fma(neo_kernel *k, const neo_lx *a, const neo_lx *b, const neo_lx *c);
/* Two numbers as one i32, as dot products of pairs take them. */
const neo_lx *neo_lx_pair(neo_kernel *k, const neo_lx *first, const neo_lx *second);
/* The dot product of two pairs (PAIR), plus c; f32. */
const neo_lx *neo_lx_dot(neo_kernel *k, const neo_lx *a, const neo_lx *b, const neo_lx *c);
/* An elementwise operator with n arguments, its arity, and a result of type t. Constants fold. */
const neo_lx *neo_lx_op(neo_kernel *k, neo_op op, neo_type t, const neo_lx *const *arg, size_t n);
/* Elementwise operators of one, two and three arguments, whose type follows from these. */
const neo_lx *neo_lx_op1(neo_kernel *k, neo_op op, const neo_lx *a);
const neo_lx *neo_lx_op2(neo_kernel *k, neo_op op, const neo_lx *a, const neo_lx *b);
const neo_lx *neo_lx_op3(neo_kernel *k, neo_op op, const neo_lx *a, const neo_lx *b,
                         const neo_lx *c);
/* The value of a, converted to type t. */
const neo_lx *neo_lx_cast(neo_kernel *k, neo_type t, const neo_lx *a);

bool neo_lx_implies(const neo_lx *all, const neo_lx *c); /* has `all` every conjunct of c? */
/* Is evaluating e sure to load the element? Expressions that are deep are not looked through. */
bool neo_lx_always_loads(const neo_lx *e, uint32_t buf, const neo_lx *offset);
/* Whether e is an integer or bool constant; *x is then its value, and else unchanged. */
bool neo_lx_is_int(const neo_lx *e, int64_t *x);
/* Whether a loop's variable occurs in e. */
bool neo_lx_uses(const neo_lx *e, uint32_t var);
/* *step: how much e grows when the variable grows by one. False: e is not linear in the
 * variable. */
bool neo_lx_step(const neo_lx *e, uint32_t var, int64_t *step);
