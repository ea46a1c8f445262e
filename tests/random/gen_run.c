/* Inputs, comparing, and programs as text. */
#include "base/hash.h"
#include "ir/print.h"
#include "tests/random/gen_parts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- inputs */

/* An integer over constants and sizes. */
static int64_t size_value(const neo_gen_program *g, neo_expr e) {
  const neo_node *n = neo_expr_node(g->m, e);
  neo_value x[3] = {{.i = 0}};
  if (neo_expr_is_int(g->m, e, &x[0].i))
    return x[0].i;
  if (n->op == NEO_OP_SIZE)
    return g->sizes[n->attr];
  neo_type t = neo_expr_type(g->m, neo_expr_arg(g->m, e, 0));
  for (uint32_t k = 0; k < n->arg.n && k < 3; k++)
    x[k].i = size_value(g, neo_expr_arg(g->m, e, k));
  return neo_value_op((neo_op)n->op, (neo_type)n->type, t, x).i;
}

void gen_derive_sizes(neo_gen_program *g) {
  for (uint32_t k = 1; k < g->m->sizes.n; k++) {
    const neo_size_rec *s = &g->m->sizes.at[k];
    if (s->kind == NEO_SIZE_DERIVED)
      g->sizes[k] = size_value(g, s->value);
  }
}

static neo_value special_value(neo_type t, uint64_t h) {
  static const double floats[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, -0.0, 60000};
  static const int64_t ints[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 127};
  if (neo_type_is_float(t))
    return (neo_value){.f = neo_value_round(t, floats[h % 5])};
  return neo_value_cast(t, NEO_I64_T, (neo_value){.i = ints[h % 5]});
}

static neo_value ordinary_value(neo_type t, uint64_t h) {
  if (neo_type_is_float(t))
    return (neo_value){.f = ((double)(h % 17) - 8) / 4};
  if (t == NEO_BOOL_T)
    return (neo_value){.i = (int64_t)(h & 1)};
  return (neo_value){.i = t == NEO_U8_T ? (int64_t)(h % 10) : (int64_t)(h % 19) - 9};
}

neo_value neo_gen_element(const neo_gen_program *g, neo_tensor t, uint64_t k) {
  const neo_tensor_rec *r = neo_tensor_at(g->m, t);
  const char *name = neo_name_text(g->m->names, r->name);
  uint64_t h = neo_hash_mix(neo_hash(name, strlen(name), g->seed), k);
  if (r->bound.i) {
    int64_t bound = size_value(g, r->bound);
    return (neo_value){.i = bound > 0 ? (int64_t)(h % (uint64_t)bound) : 0};
  }
  if (g->special && h >> 32 & 1 && (h >> 40) % 10 == 0)
    return special_value((neo_type)r->type, h >> 48);
  return ordinary_value((neo_type)r->type, h);
}

neo_interp *neo_gen_interp(neo_arena *a, const neo_gen_program *g) {
  neo_interp *p = neo_interp_new(a, g->m, g->sizes, g->seed);
  neo_interp_track_errors(p, true);
  for (uint32_t t = 1; t < g->m->tensors.n; t++) {
    if (g->m->tensors.at[t].role != NEO_ROLE_INPUT)
      continue;
    neo_values *v = neo_interp_tensor(p, (neo_tensor){t});
    for (int64_t k = 0; k < v->n; k++)
      v->at[k] = neo_gen_element(g, (neo_tensor){t}, (uint64_t)k);
  }
  return p;
}

/* ---- comparing */

bool neo_gen_same(neo_type t, neo_value want, double error, neo_value got) {
  if (isinf(error))
    return true;
  if (!neo_type_is_float(t))
    return want.i == got.i;
  if (isnan(want.f) || isnan(got.f))
    return isnan(want.f) && isnan(got.f);
  if (isinf(want.f) || isinf(got.f)) {
    /* Rounding may push a value at the very end of the range over it. */
    double end = t == NEO_F16_T ? 65504 : t == NEO_F64_T ? 1.7e308 : 3.38e38;
    double inner = isinf(want.f) ? got.f : want.f;
    return want.f == got.f || (error > 0 && fabs(inner) + error >= end);
  }
  return fabs(want.f - got.f) <= error;
}

bool neo_gen_compare(neo_type t, const neo_values *want, const double *error, const neo_value *got,
                     size_t *n_compared, neo_str *why) {
  for (int64_t k = 0; k < want->n; k++) {
    double e = error ? error[k] : 0;
    if (n_compared)
      *n_compared += !isinf(e);
    if (neo_gen_same(t, want->at[k], e, got[k]))
      continue;
    if (neo_type_is_float(t))
      neo_str_addf(why, "element %lld is %.9g, not %.9g within %.3g", (long long)k, got[k].f,
                   want->at[k].f, e);
    else
      neo_str_addf(why, "element %lld is %lld, not %lld", (long long)k, (long long)got[k].i,
                   (long long)want->at[k].i);
    return false;
  }
  return true;
}

/* ---- text */

void neo_gen_print(const neo_gen_program *g, neo_str *out) {
  neo_str text;
  neo_str_init(&text, out->arena);
  neo_module_print(g->m, &text);
  const char *s = neo_str_text(&text), *line_end = strchr(s, '\n');
  neo_str_addn(out, s, (size_t)(line_end - s) + 1); /* the version stays first */
  neo_str_addf(out, "# seed %llu special %d\n", (unsigned long long)g->seed, g->special);
  neo_str_add(out, "# sizes");
  for (uint32_t k = 1; k < g->m->sizes.n; k++)
    neo_str_addf(out, " %lld", (long long)g->sizes[k]);
  neo_str_addf(out, "\n%s", line_end + 1);
}

neo_gen_program neo_gen_parse(neo_arena *a, const char *text, size_t n) {
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_gen_program g = {.m = neo_module_parse(a, neo_names_new(a), d, "random.ir", text, n)};
  if (!g.m)
    return g;
  g.sizes = NEO_NEW_ARRAY(a, int64_t, g.m->sizes.n);
  const char *seed = strstr(text, "# seed "), *sizes = strstr(text, "# sizes");
  char *at = NULL;
  if (seed)
    g.seed = strtoull(seed + 7, &at, 10);
  if (at && strncmp(at, " special ", 9) == 0)
    g.special = at[9] == '1';
  at = sizes ? (char *)(uintptr_t)sizes + 7 : NULL;
  for (uint32_t k = 1; at && k < g.m->sizes.n; k++)
    g.sizes[k] = strtoll(at, &at, 10);
  gen_derive_sizes(&g);
  return g;
}
