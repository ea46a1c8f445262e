/* Integer sets (isl): is there a point that satisfies the words of a relation (relation.h)?
 *
 * Sets are built from constraints, never from text. isl runs under a quota of operations; every
 * result may be null, null travels through the calls, and the error that made it decides in the
 * end. Where that is a lack of memory it is the arena's: an answer may not depend on how much there
 * is. */
#define _GNU_SOURCE 1 /* RTLD_DEFAULT */
#include "ir/prove/relation.h"
#include <dlfcn.h>
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

struct neo_isl {
  isl_ctx *ctx;
  neo_arena *arena;
  neo_arena_cleanup *cleanup; /* frees the context if its prover is not freed */
};

typedef struct { /* reads the words */
  isl_ctx *ctx;
  const int64_t *at, *end;
  unsigned n_dims;
} reader;

static isl_space *space_of(const reader *r) {
  return isl_space_set_alloc(r->ctx, 0, r->n_dims);
}

static isl_val *number(const reader *r, int64_t x) {
  return isl_val_int_from_si(r->ctx, (long)x);
}

static isl_constraint *constraint(reader *r) {
  isl_local_space *ls = isl_local_space_from_space(space_of(r));
  bool equal = *r->at++ == NEO_REL_EQ;
  isl_constraint *c =
      equal ? isl_constraint_alloc_equality(ls) : isl_constraint_alloc_inequality(ls);
  c = isl_constraint_set_constant_val(c, number(r, *r->at++));
  for (int64_t n = *r->at++; n > 0; n--) {
    int dim = (int)*r->at++;
    c = isl_constraint_set_coefficient_val(c, isl_dim_set, dim, number(r, *r->at++));
  }
  return c;
}

static bool is_constraint(const reader *r) {
  return *r->at == NEO_REL_GE || *r->at == NEO_REL_EQ;
}

/* Consecutive constraints are one basic set. */
static isl_set *conjunction(reader *r, bool one) {
  isl_basic_set *b = isl_basic_set_universe(space_of(r));
  do
    b = isl_basic_set_add_constraint(b, constraint(r));
  while (!one && r->at < r->end && is_constraint(r));
  return isl_set_from_basic_set(b);
}

static isl_set *condition(reader *r, bool top) {
  if (is_constraint(r))
    return conjunction(r, !top);
  int64_t op = *r->at++;
  if (op == NEO_REL_TRUE)
    return isl_set_universe(space_of(r));
  if (op == NEO_REL_FALSE)
    return isl_set_empty(space_of(r));
  isl_set *a = condition(r, false), *b = condition(r, false);
  return op == NEO_REL_AND ? isl_set_intersect(a, b) : isl_set_union(a, b);
}

static isl_set *set_of(reader *r) {
  isl_set *y = isl_set_universe(space_of(r));
  while (r->at < r->end)
    y = isl_set_intersect(y, condition(r, true));
  return y;
}

static bool coordinate(isl_point *at, uint32_t k, int64_t *x) {
  isl_val *v = isl_point_get_coordinate_val(at, isl_dim_set, (int)k);
  bool fits = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT64_MAX / 2) < 0 &&
              isl_val_cmp_si(v, INT64_MIN / 2) > 0;
  *x = fits ? (int64_t)isl_val_get_num_si(v) : INT64_MIN;
  isl_val_free(v);
  return fits;
}

/* The answer, unless isl reports an error, which outweighs any result. */
static neo_isl_answer judged(neo_isl *isl, neo_isl_answer answer) {
  enum isl_error error = isl_ctx_last_error(isl->ctx);
  isl_ctx_reset_error(isl->ctx);
  if (error == isl_error_alloc)
    neo_arena_fail(isl->arena);
  if (error == isl_error_none)
    return answer;
  return error == isl_error_quota ? NEO_ISL_QUOTA : NEO_ISL_FAILED;
}

neo_isl_answer neo_isl_sample(neo_isl *isl, const int64_t *words, size_t n, uint64_t max_operations,
                              int64_t *point) {
  neo_isl_answer answer = NEO_ISL_FAILED;
  if (!isl->ctx)
    return answer;
  reader r = {isl->ctx, words + 1, words + n, (unsigned)words[0]};
  isl_ctx_reset_operations(isl->ctx);
  isl_ctx_set_max_operations(isl->ctx, (unsigned long)max_operations);
  isl_point *at = isl_set_sample_point(set_of(&r));
  isl_bool none = at ? isl_point_is_void(at) : isl_bool_error;
  if (none == isl_bool_true)
    answer = NEO_ISL_EMPTY;
  if (none == isl_bool_false) {
    answer = NEO_ISL_POINT;
    for (uint32_t k = 0; k < r.n_dims; k++)
      coordinate(at, k, &point[k]);
  }
  isl_point_free(at);
  isl_ctx_set_max_operations(isl->ctx, 0);
  return judged(isl, answer);
}

static void free_context(void *ctx) {
  isl_ctx_free(ctx);
}

neo_isl *neo_isl_new(neo_arena *arena) {
  neo_isl *isl = NEO_NEW(arena, neo_isl);
  isl->cleanup = neo_arena_defer(arena, free_context);
  isl->cleanup->object = isl->ctx = isl_ctx_alloc();
  isl->arena = arena;
  if (!isl->ctx)
    neo_arena_fail(arena);
  isl_options_set_on_error(isl->ctx, ISL_ON_ERROR_CONTINUE);
  return isl;
}

void neo_isl_free(neo_isl *isl) {
  if (!isl || !isl->ctx)
    return;
  isl_ctx_free(isl->ctx);
  isl->cleanup->object = isl->ctx = NULL;
}
