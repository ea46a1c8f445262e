/* What a module computes, before and after passes. */
#include "tools/pipeline/facts.h"
#include "autodiff/autodiff.h"
#include "base/hash.h"
#include "base/random.h"
#include "ir/interp.h"
#include "ir/print.h"
#include "tools/pipeline/compile.h"
#include "transform/transform.h"
#include <math.h>
#include <string.h>

enum { ROUNDS = 4, WORK = 200000, ELEMENTS = 400000, DRAWS = 100, SPREAD = 6 };

typedef struct { /* a result of an entry */
  uint32_t entry, name;
  bool update; /* of a parameter or state, which may be an output as well */
  neo_type type;
  neo_values v;
  double *error; /* null: all 0 */
  bool gradient; /* known of a copy of the program as it was written */
} fact;

typedef struct { /* one choice of sizes and inputs */
  int64_t *sizes;
  NEO_VEC(fact) known; /* by the last evaluation */
} facts_round;

struct neo_fact_check {
  neo_arena *arena;
  facts_round round[ROUNDS];
};

typedef struct { /* an evaluation */
  neo_fact_check *f;
  facts_round *round;
  uint32_t number;
  neo_module *m;
  const char *pass;
  bool
      gradients; /* m is a copy of the program in which gradients are made before all other passes */
  neo_interp *interp;
  bool impossible; /* no element of some input is in its bounds at these sizes */
  neo_arena scratch;
  facts_round now;
} evaluation;

neo_fact_check *neo_fact_check_new(neo_arena *a) {
  neo_fact_check *f = NEO_NEW(a, neo_fact_check);
  *f = (neo_fact_check){.arena = a};
  return f;
}

/* ---- sizes */

static bool obeys(const neo_module *m, const int64_t *sizes) {
  for (size_t k = 0; k < m->asserts.n; k++)
    if (!neo_size_value(m, m->asserts.at[k].holds, sizes))
      return false;
  return true;
}

static void draw_sizes(const neo_module *m, uint64_t *state, int64_t *sizes) {
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *s = &m->sizes.at[k];
    uint64_t spread = s->hi - s->lo < SPREAD ? (uint64_t)(s->hi - s->lo + 1) : SPREAD + 1;
    sizes[k] = s->lo + (int64_t)(neo_splitmix(state) % spread);
  }
}

/* Small sizes under which the program's conditions hold; null: none were found. */
static int64_t *choose_sizes(neo_arena *a, const neo_module *m, uint64_t seed) {
  int64_t *sizes = NEO_NEW_ARRAY(a, int64_t, m->sizes.n + 1);
  for (int k = 0; k < DRAWS; k++) {
    draw_sizes(m, &seed, sizes);
    if (obeys(m, sizes))
      return sizes;
  }
  return NULL;
}

/* Would the tensors take much memory? */
static bool is_large(const neo_module *m, const int64_t *sizes) {
  int64_t sum = 0;
  for (uint32_t t = 1; t < m->tensors.n && sum <= ELEMENTS; t++) {
    int64_t extent[16], n = 1;
    (void)neo_tensor_elements_at(m, (neo_tensor){t}, sizes, extent);
    for (uint32_t d = 0; d < neo_tensor_rank(m, (neo_tensor){t}) && n <= ELEMENTS; d++)
      n = extent[d] ? n * (extent[d] < ELEMENTS ? extent[d] : ELEMENTS + 1) : 0;
    sum += n;
  }
  return sum > ELEMENTS;
}

/* ---- inputs */

/* Multiples of 1/4, of which sums are exact and many are equal; then any numbers, for which rounding
 * counts; then numbers above 0; then one number, so that the first of equals counts. Infinities would
 * tell nothing: of what becomes of them passes promise little. */
static double draw_float(uint32_t number, uint64_t h) {
  double unit = (double)(h >> 11) * 0x1p-53;
  switch (number) {
  case 0:
    return ((double)(h % 17) - 8) / 4;
  case 1:
    return 2 * unit - 1;
  case 2:
    return 1 - unit;
  default:
    return 0.5;
  }
}

static int64_t draw_between(int64_t least, int64_t below, uint64_t h) {
  return least < below ? least + (int64_t)(h % ((uint64_t)below - (uint64_t)least)) : least;
}

static int64_t draw_int(evaluation *e, neo_tensor t, const neo_ends_at *ends, int64_t element,
                        uint64_t h) {
  const neo_tensor_rec *r = neo_tensor_at(e->m, t);
  int64_t least = r->type == NEO_U8_T ? 0 : -9, below = 10;
  if (r->type == NEO_BOOL_T)
    return (int64_t)(h & 1);
  if (ends->given)
    neo_ends_of_element(ends, element, &least, &below);
  if (r->bound.i) {
    int64_t bound = neo_size_value(e->m, r->bound, e->round->sizes);
    least = ends->given && least > 0 ? least : 0;
    below = ends->given && below < bound ? below : bound;
  }
  e->impossible = e->impossible || least >= below;
  return draw_between(least, below, h);
}

static void draw_tensor(evaluation *e, neo_tensor t) {
  neo_tensor_rec r = *neo_tensor_at(e->m, t);
  const char *name = neo_name_text(e->m->names, r.name);
  uint64_t seed = neo_hash(name, strlen(name), e->number);
  neo_ends_at ends = neo_tensor_ends_at(e->m, t, e->round->sizes);
  neo_values *v = neo_interp_tensor(e->interp, t);
  for (int64_t k = 0; k < v->n; k++) {
    uint64_t h = neo_hash_mix(seed, (uint64_t)k);
    if (neo_type_is_float((neo_type)r.type))
      v->at[k].f = neo_value_round((neo_type)r.type, draw_float(e->number, h));
    else
      v->at[k].i = draw_int(e, t, &ends, k, h);
  }
}

/* Parameters and states of integers stay as their initial values are, which may be positions. */
static void draw_inputs(evaluation *e) {
  for (uint32_t t = 1; t < e->m->tensors.n; t++) {
    const neo_tensor_rec *r = &e->m->tensors.at[t];
    bool kept = r->role == NEO_ROLE_PARAM || r->role == NEO_ROLE_STATE;
    if (r->role == NEO_ROLE_INPUT || (kept && neo_type_is_float((neo_type)r->type)))
      draw_tensor(e, (neo_tensor){t});
  }
}

/* ---- evaluating */

static neo_status report(evaluation *e, const char *what) {
  const char *text = e->pass ? neo_arena_printf(e->m->arena, "pass '%s' %s", e->pass, what)
                             : neo_arena_printf(e->m->arena, "the frontend %s", what);
  neo_diag(e->m->diags, 0, NEO_D_INTERNAL, text);
  return NEO_INTERNAL;
}

/* The name of the k-th result of an entry: of an output, or of the tensor that is updated. */
static uint32_t name_of(const neo_module *m, const neo_entry_rec *x, uint32_t k) {
  if (k < x->outputs.n)
    return neo_list_at(m, x->names, k);
  neo_tensor update = {neo_list_at(m, x->updates, k - x->outputs.n)};
  return neo_tensor_at(m, neo_tensor_at(m, update)->updates)->name;
}

static void keep(evaluation *e, uint32_t entry, uint32_t k, neo_tensor t) {
  neo_arena *a = e->f->arena;
  const neo_entry_rec *x = &e->m->entries.at[entry];
  const neo_values *v = neo_interp_tensor(e->interp, t);
  const double *error = neo_interp_errors(e->interp, t);
  fact is = {.entry = entry,
             .name = name_of(e->m, x, k),
             .update = k >= x->outputs.n,
             .type = (neo_type)neo_tensor_at(e->m, t)->type,
             .v = *v,
             .gradient = e->gradients};
  is.v.at = neo_arena_copy(a, v->at, ((size_t)v->n + 1) * sizeof *v->at);
  if (error)
    is.error = neo_arena_copy(a, error, ((size_t)v->n + 1) * sizeof *error);
  NEO_PUSH(a, &e->now.known, is);
}

/* Gradients have no definition before they are made: their entries wait. */
static neo_status evaluate_entry(evaluation *e, uint32_t entry) {
  neo_entry_rec x = e->m->entries.at[entry];
  size_t n = x.outputs.n + x.updates.n;
  neo_tensor *roots = NEO_NEW_ARRAY(&e->scratch, neo_tensor, n + 1);
  neo_str why;
  neo_str_init(&why, e->m->arena);
  for (uint32_t k = 0; k < n; k++)
    roots[k].i = k < x.outputs.n ? neo_list_at(e->m, x.outputs, k)
                                 : neo_list_at(e->m, x.updates, k - x.outputs.n);
  bool training = x.kind == NEO_ENTRY_TRAIN || x.kind == NEO_ENTRY_GRAD;
  neo_status s = neo_interp_eval(e->interp, roots, n, training, &why);
  if (s == NEO_STATE || s == NEO_INTERRUPTED || (s && e->gradients))
    return NEO_OK;
  if (s)
    return report(e, neo_arena_printf(e->m->arena, "breaks a fact: %s", neo_str_text(&why)));
  for (uint32_t k = 0; k < n; k++)
    keep(e, entry, k, roots[k]);
  return NEO_OK;
}

static neo_status evaluate(evaluation *e) {
  neo_status s = NEO_OK;
  e->interp = neo_interp_new(&e->scratch, e->m, e->round->sizes, 1);
  neo_interp_track_errors(e->interp, true);
  draw_inputs(e);
  for (uint32_t k = 0; k < e->m->entries.n && !s && !e->impossible; k++) {
    neo_interp_limit(e->interp, WORK);
    if (e->m->entries.at[k].kind != NEO_ENTRY_INIT)
      s = evaluate_entry(e, k);
  }
  return s;
}

/* ---- comparing */

static bool same(neo_type t, neo_value a, neo_value b, double error) {
  if (isinf(error))
    return true;
  if (!neo_type_is_float(t))
    return a.i == b.i;
  return a.f == b.f || (isnan(a.f) && isnan(b.f)) || fabs(a.f - b.f) <= error;
}

static void add_value(neo_str *s, neo_type t, neo_value x) {
  if (neo_type_is_float(t))
    neo_str_addf(s, "%.9g", x.f);
  else
    neo_str_addf(s, "%lld", (long long)x.i);
}

static void add_index(neo_str *s, const neo_values *v, int64_t element) {
  int64_t below = v->n;
  for (uint32_t d = 0; d < v->rank; d++) {
    below /= v->extent[d];
    neo_str_addf(s, "%s%lld", d ? ", " : "[", (long long)(element / below % v->extent[d]));
  }
  neo_str_add(s, v->rank ? "]" : "");
}

static neo_status differs(evaluation *e, const fact *was, const fact *is, int64_t element) {
  neo_str s;
  neo_str_init(&s, e->m->arena);
  neo_str_addf(&s, "changes %s", neo_name_text(e->m->names, is->name));
  add_index(&s, &is->v, element);
  neo_str_add(&s, ": ");
  add_value(&s, was->type, was->v.at[element]);
  neo_str_add(&s, " before, ");
  add_value(&s, is->type, is->v.at[element]);
  neo_str_add(&s, was->gradient ? " after, if none of the passes before it does" : " after");
  return report(e, neo_str_text(&s));
}

static neo_status compare(evaluation *e, const fact *was, const fact *is) {
  for (int64_t k = 0; k < is->v.n && was->v.n == is->v.n; k++) {
    double error = (was->error ? was->error[k] : 0) + (is->error ? is->error[k] : 0);
    if (!same(is->type, was->v.at[k], is->v.at[k], error))
      return differs(e, was, is, k);
  }
  return NEO_OK;
}

/* Rounding to fewer bits is what the user asked for: results differ from then on. */
static bool rounds(const evaluation *e) {
  bool asked = e->m->math != NEO_PRECISION_F32 || e->m->store != NEO_PRECISION_F32;
  return asked && e->pass && neo_streq(e->pass, "mixed-precision");
}

static bool is_same_result(const fact *a, const fact *b) {
  return a->entry == b->entry && a->name == b->name && a->update == b->update;
}

static neo_status compare_all(evaluation *e) {
  neo_status s = NEO_OK;
  for (size_t k = 0; k < e->now.known.n && !s && !rounds(e); k++)
    for (size_t j = 0; j < e->round->known.n && !s; j++) {
      const fact *is = &e->now.known.at[k], *was = &e->round->known.at[j];
      if (is_same_result(is, was))
        s = compare(e, was, is);
    }
  return s;
}

static void learn(facts_round *r, const evaluation *e) {
  neo_arena *a = e->f->arena;
  for (size_t k = 0; k < e->now.known.n; k++) {
    const fact *is = &e->now.known.at[k];
    size_t j = 0;
    while (j < r->known.n && !is_same_result(&r->known.at[j], is))
      j++;
    if (j == r->known.n)
      NEO_PUSH(a, &r->known, *is);
    r->known.at[j] = *is;
  }
}

static neo_status check_round(neo_fact_check *f, neo_module *m, const char *pass, uint32_t number,
                              bool gradients) {
  facts_round *r = &f->round[number];
  if (!r->sizes && !pass)
    r->sizes = choose_sizes(f->arena, m, number);
  if (!r->sizes || is_large(m, r->sizes))
    return NEO_OK;
  evaluation e = {
      .f = f, .round = r, .number = number, .m = m, .pass = pass, .gradients = gradients};
  neo_arena_init(&e.scratch, m->arena->alloc, m->arena->on_fail);
  neo_status s = evaluate(&e);
  neo_arena_free(&e.scratch);
  if (!s)
    s = compare_all(&e);
  if (!s)
    learn(r, &e);
  return s;
}

static neo_status check_rounds(neo_fact_check *f, neo_module *m, const char *pass, bool gradients) {
  neo_status s = NEO_OK;
  for (uint32_t k = 0; k < ROUNDS && !s; k++)
    s = check_round(f, m, pass, k, gradients);
  return s;
}

/* Gradients of the program as it was written: passes before autodiff may change what it makes of it. Arithmetic that
 * wraps is marked for them alone, since autodiff reckons in exact integers. */
static neo_status learn_gradients(neo_fact_check *f, neo_module *m) {
  neo_arena scratch;
  neo_str text;
  neo_pass_target target = {0};
  neo_status s = NEO_OK;
  neo_arena_init(&scratch, m->arena->alloc, m->arena->on_fail);
  neo_str_init(&text, &scratch);
  neo_module_print(m, &text);
  neo_diags *d = neo_diags_new(&scratch, neo_sources_new(&scratch));
  neo_module *copy =
      neo_module_parse(&scratch, m->names, d, "facts.ir", neo_str_text(&text), text.n);
  if (copy && !neo_diags_errors(d) && !neo_pass_wrapping(copy, &target) &&
      !neo_pass_autodiff(copy, &target) && !neo_diags_errors(d))
    s = check_rounds(f, copy, NULL, true);
  neo_arena_free(&scratch);
  return s;
}

neo_status neo_fact_check_run(void *ctx, neo_module *m, const char *pass) {
  neo_status s = NEO_OK;
  if (!pass && m->grads.n)
    s = learn_gradients(ctx, m);
  return s ? s : check_rounds(ctx, m, pass, false);
}
