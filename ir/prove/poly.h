/* Polynomials with integer coefficients over atoms (i64 expressions that are not sums or products).
 * They carry the flattened indices that affine forms cannot: b*T + t, with T a run-time size.
 *
 * Terms are sorted by graded lexicographic order, highest first, so that division by a polynomial
 * terminates. All arithmetic is checked: false means an overflow or too many terms, and then the
 * result is meaningless. Results never alias arguments. Private to the prover. */
#pragma once
#include "ir/ir.h"

enum { NEO_POLY_TERMS = 32, NEO_POLY_DEGREE = 4 };

typedef struct { /* coef * product of atoms; atoms are expression ids, highest first */
  int64_t coef;
  uint32_t n;
  uint32_t atom[NEO_POLY_DEGREE];
} neo_mono;

typedef struct {
  int64_t constant;
  uint32_t n;
  neo_mono term[NEO_POLY_TERMS];
} neo_poly;

static inline void neo_poly_set(neo_poly *out, int64_t constant) {
  out->constant = constant;
  out->n = 0;
}
void neo_poly_copy(neo_poly *out, const neo_poly *a);
/* A copy that takes no more memory than its terms need. */
neo_poly *neo_poly_new(neo_arena *arena, const neo_poly *a);
void neo_poly_atom(neo_poly *out, neo_expr atom);
/* Compares the products alone: > 0 if a comes first. */
int neo_mono_compare(const neo_mono *a, const neo_mono *b);
/* a + k*b */
bool neo_poly_add(const neo_poly *a, int64_t k, const neo_poly *b, neo_poly *out) NEO_MUST_CHECK;
bool neo_poly_scale(const neo_poly *a, int64_t k, neo_poly *out) NEO_MUST_CHECK;
bool neo_poly_mul(const neo_poly *a, const neo_poly *b, neo_poly *out) NEO_MUST_CHECK;
/* a*b + c */
bool neo_poly_fma(const neo_poly *a, const neo_poly *b, const neo_poly *c,
                  neo_poly *out) NEO_MUST_CHECK;
/* x = q*d + r, with as much in q as the leading term of d (or d itself, if constant) divides;
 * constants stay in r unless d is a constant. d is not zero. */
bool neo_poly_divide(const neo_poly *x, const neo_poly *d, neo_poly *q, neo_poly *r) NEO_MUST_CHECK;
/* g = a*atom + b, with a and b free of the atom; false if g has a higher power of it. */
bool neo_poly_split(const neo_poly *g, uint32_t atom, neo_poly *a, neo_poly *b) NEO_MUST_CHECK;
bool neo_poly_uses(const neo_poly *g, uint32_t atom);
bool neo_poly_equal(const neo_poly *a, const neo_poly *b);
/* Tightens g >= 0: divides the coefficients by their common divisor, and rounds the constant
 * down. */
void neo_poly_tighten(neo_poly *g);
/* g as an expression, positive terms first. */
neo_expr neo_poly_expr(neo_module *m, const neo_poly *g);

/* Floor and ceiling of a/b, b > 0. */
int64_t neo_div_floor(int64_t a, int64_t b);
int64_t neo_div_ceil(int64_t a, int64_t b);
