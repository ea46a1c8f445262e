/* Element functions of f64: arithmetic of double-double numbers, and the functions of each file.
 * Private to codegen/llvm/math. */
#pragma once
#include "codegen/llvm/num.h"

#define MAGIC64 0x1.8p52 /* adding it rounds to an integer, in the low bits */
#define MAGIC64_BITS 0x4338000000000000
#define LOG2_E64 0x1.71547652b82fep+0
#define LN2_HEAD64 0x1.62e42fefa3800p-1 /* 42 bits: its products by exponents are exact */
#define LN2_TAIL64 0x1.ef35793c76730p-45

/* h + l, where l is at most half of the last place of h. */
typedef struct {
  val h, l;
} pair;

static inline pair fast_sum2(neo_llvm *l, val x, val y) { /* |x| >= |y|, or x = 0 */
  val s = add(l, x, y);
  pair p = {s, sub(l, y, sub(l, s, x))};
  return p;
}

static inline pair sum2(neo_llvm *l, val x, val y) {
  val s = add(l, x, y), from_y = sub(l, s, x), from_x = sub(l, s, from_y);
  pair p = {s, add(l, sub(l, x, from_x), sub(l, y, from_y))};
  return p;
}

/* The product, exact to 2^-106 of it. Without a fused multiply-add the factors are split in two. */
static inline pair product2(neo_llvm *l, val x, val y) {
  val h = mul(l, x, y);
  if (l->target.fma) {
    pair p = {h, mad(l, x, y, minus(l, h))};
    return p;
  }
  val xh = of_bits(l, iand(l, to_bits(l, x), -(1LL << 27))), xl = sub(l, x, xh);
  val yh = of_bits(l, iand(l, to_bits(l, y), -(1LL << 27))), yl = sub(l, y, yh);
  val e = add(l, sub(l, mul(l, xh, yh), h), mul(l, xh, yl));
  pair p = {h, add(l, add(l, e, mul(l, xl, yh)), mul(l, xl, yl))};
  return p;
}

static inline pair times(neo_llvm *l, pair x, pair y) {
  pair p = product2(l, x.h, y.h);
  return fast_sum2(l, p.h, mad(l, x.h, y.l, mad(l, x.l, y.h, p.l)));
}

/* x/y, for an x.h that is finite. */
static inline val ratio(neo_llvm *l, pair x, pair y) {
  val q = quot(l, x.h, y.h);
  return add(l, q, quot(l, mad(l, q, minus(l, y.l), x.l), y.h));
}

static inline pair pick2(neo_llvm *l, val c, pair x, pair y) {
  pair p = {pick(l, c, x.h, y.h), pick(l, c, x.l, y.l)};
  return p;
}

/* m*s, rounded once: s is a power of two, m far from over- and underflow. */
typedef struct {
  pair m;
  val s;
} scaled64;

/* e^(x + more) for a tiny `more` (null: 0); below -820 it is 0 even times 820. llvm/math/exp64.c */
scaled64 neo_ll_exp_parts64(neo_llvm *l, val x, val more);
val neo_ll_exp64(neo_llvm *l, neo_op op, val x);        /* exp, and functions of exponentials */
val neo_ll_log64(neo_llvm *l, neo_op op, val x, val y); /* log, log1p, softplus, pow */
val neo_ll_trig64(neo_llvm *l, neo_op op, val x);       /* sin, cos, tan */
val neo_ll_erf64(neo_llvm *l, neo_op op, val x);        /* erf, gelu, phi, bell */
