/* Compares the results of a module before and after passes. */
#include "autodiff/autodiff.h"
#include "ir/print.h"
#include "tools/pipeline/facts_parts.h"
#include "transform/transform.h"
#include <math.h>

typedef struct { /* an evaluation */
  neo_fact_check *f;
  neo_fact_round *round;
  uint32_t number;
  neo_module *m;
  const char *pass;
  /* m is a copy of the program in which gradients are made before all other passes. */
  bool gradients;
  neo_interp *interp;
  neo_arena scratch;
  neo_fact_round now;
} evaluation;

neo_fact_check *neo_fact_check_new(neo_arena *a) {
  neo_fact_check *f = NEO_NEW(a, neo_fact_check);
  *f = (neo_fact_check){.arena = a};
  return f;
}

/* ---- evaluating */

static neo_status report(evaluation *e, const char *what) {
  const char *text = e->pass ? neo_arena_printf(e->m->arena, "pass '%s' %s", e->pass, what)
                             : neo_arena_printf(e->m->arena, "the frontend %s", what);
  neo_diag(e->m->diags, 0, NEO_D_INTERNAL, text);
  return NEO_INTERNAL;
}

/* The name of the k-th result of an entry: an output's name, or that of the tensor which an update
 * changes. */
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
  neo_fact is = {.entry = entry,
                 .name = name_of(e->m, x, k),
                 .update = k >= x->outputs.n,
                 .type = neo_tensor_type(e->m, t),
                 .v = *v,
                 .gradient = e->gradients};
  is.v.at = neo_arena_copy(a, v->at, ((size_t)v->n + 1) * sizeof *v->at);
  if (error)
    is.error = neo_arena_copy(a, error, ((size_t)v->n + 1) * sizeof *error);
  NEO_PUSH(a, &e->now.known, is);
}

static void count(evaluation *e, neo_fact_outcome k, int64_t n) {
  neo_fact_count(e->f, NEO_FACT_OF_MODULES, k, n);
}

/* Evaluates an entry; one that needs gradients is left for later, as gradients have no definition
 * yet. */
static neo_status evaluate_entry(evaluation *e, uint32_t entry) {
  neo_entry_rec x = e->m->entries.at[entry];
  size_t n = x.outputs.n + x.updates.n;
  neo_tensor *roots = NEO_NEW_ARRAY(&e->scratch, neo_tensor, n + 1);
  neo_str why = neo_str_in(e->m->arena);
  for (uint32_t k = 0; k < n; k++)
    roots[k].i = k < x.outputs.n ? neo_list_at(e->m, x.outputs, k)
                                 : neo_list_at(e->m, x.updates, k - x.outputs.n);
  bool training = x.kind == NEO_ENTRY_TRAIN || x.kind == NEO_ENTRY_GRAD;
  neo_status s = neo_interp_eval(e->interp, roots, n, training, &why);
  if (s == NEO_STATE || s == NEO_INTERRUPTED || (s && e->gradients)) {
    if (s != NEO_STATE)
      count(e, s == NEO_INTERRUPTED ? NEO_FACT_LONG : NEO_FACT_REFUSED, 1);
    return NEO_OK;
  }
  count(e, NEO_FACT_DONE, 1);
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
  bool possible = neo_fact_draw(e->m, e->interp, e->round->sizes, e->number);
  if (!possible)
    count(e, NEO_FACT_NO_INPUTS, neo_fact_entries(e->m));
  for (uint32_t k = 0; k < e->m->entries.n && !s && possible; k++) {
    neo_interp_limit(e->interp, NEO_FACT_WORK);
    if (e->m->entries.at[k].kind != NEO_ENTRY_INIT)
      s = evaluate_entry(e, k);
  }
  return s;
}

/* ---- comparing */

bool neo_fact_same(neo_type t, neo_value a, neo_value b, double error) {
  if (isinf(error))
    return true;
  if (!neo_type_is_float(t))
    return a.i == b.i;
  return a.f == b.f || (isnan(a.f) && isnan(b.f)) || fabs(a.f - b.f) <= error;
}

void neo_fact_add_value(neo_str *s, neo_type t, neo_value x) {
  if (neo_type_is_float(t))
    neo_str_addf(s, "%.9g", x.f);
  else
    neo_str_addf(s, "%lld", (long long)x.i);
}

void neo_fact_add_index(neo_str *s, const int64_t *extent, uint32_t rank, int64_t element) {
  for (uint32_t d = 0; d < rank; d++) {
    int64_t inside = 1;
    for (uint32_t i = d + 1; i < rank; i++)
      inside *= extent[i];
    neo_str_addf(s, "%s%lld", d ? ", " : "[", (long long)(element / inside % extent[d]));
  }
  neo_str_add(s, rank ? "]" : "");
}

static neo_status differs(evaluation *e, const neo_fact *was, const neo_fact *is, int64_t element) {
  neo_str s = neo_str_in(e->m->arena);
  neo_str_addf(&s, "changes %s", neo_name_text(e->m->names, is->name));
  neo_fact_add_index(&s, is->v.extent, is->v.rank, element);
  neo_str_add(&s, ": ");
  neo_fact_add_value(&s, was->type, was->v.at[element]);
  neo_str_add(&s, " before, ");
  neo_fact_add_value(&s, is->type, is->v.at[element]);
  neo_str_add(&s, was->gradient ? " after, if none of the passes before it does" : " after");
  return report(e, neo_str_text(&s));
}

static neo_status compare(evaluation *e, const neo_fact *was, const neo_fact *is) {
  for (int64_t k = 0; k < is->v.n && was->v.n == is->v.n; k++) {
    double error = (was->error ? was->error[k] : 0) + (is->error ? is->error[k] : 0);
    if (!neo_fact_same(is->type, was->v.at[k], is->v.at[k], error))
      return differs(e, was, is, k);
  }
  return NEO_OK;
}

/* Whether the pass rounds to fewer bits, as the user asked for: results differ from then on. */
static bool rounds(const evaluation *e) {
  bool asked = e->m->math != NEO_PRECISION_F32 || e->m->store != NEO_PRECISION_F32;
  return asked && e->pass && neo_streq(e->pass, "mixed-precision");
}

static bool is_same_result(const neo_fact *a, const neo_fact *b) {
  return a->entry == b->entry && a->name == b->name && a->update == b->update;
}

static neo_status compare_all(evaluation *e) {
  neo_status s = NEO_OK;
  if (rounds(e))
    count(e, NEO_FACT_ROUNDED, (int64_t)neo_fact_entries(e->m));
  for (size_t k = 0; k < e->now.known.n && !s && !rounds(e); k++)
    for (size_t j = 0; j < e->round->known.n && !s; j++) {
      const neo_fact *is = &e->now.known.at[k], *was = &e->round->known.at[j];
      if (is_same_result(is, was))
        s = compare(e, was, is);
    }
  return s;
}

static void learn(neo_fact_round *r, const evaluation *e) {
  neo_arena *a = e->f->arena;
  for (size_t k = 0; k < e->now.known.n; k++) {
    const neo_fact *is = &e->now.known.at[k];
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
  neo_fact_round *r = &f->round[number];
  if (!r->sizes && !pass)
    *r = (neo_fact_round){.sizes = neo_fact_sizes(f->arena, m, number),
                          .n_sizes = (uint32_t)m->sizes.n};
  if (!r->sizes || neo_fact_are_large(m, r->sizes)) {
    neo_fact_count(f, NEO_FACT_OF_MODULES, r->sizes ? NEO_FACT_LARGE : NEO_FACT_NO_SIZES,
                   neo_fact_entries(m));
    return NEO_OK;
  }
  evaluation e = {
      .f = f, .round = r, .number = number, .m = m, .pass = pass, .gradients = gradients};
  e.scratch = neo_arena_scratch(m->arena);
  neo_status s = evaluate(&e);
  neo_arena_free(&e.scratch);
  if (!s)
    s = compare_all(&e);
  if (!s)
    learn(r, &e);
  return s;
}

static neo_status check_all_sizes(neo_fact_check *f, neo_module *m, const char *pass,
                                  bool gradients) {
  neo_status s = NEO_OK;
  for (uint32_t k = 0; k < NEO_FACT_ROUNDS && !s; k++)
    s = check_round(f, m, pass, k, gradients);
  return s;
}

/* Computes the gradients of the program as written: passes before autodiff may change its
 * gradients. Arithmetic that wraps is first made opaque in the copy, since autodiff assumes exact
 * integers. */
static neo_status learn_gradients(neo_fact_check *f, neo_module *m) {
  neo_pass_target target = {0};
  neo_status s = NEO_OK;
  neo_arena scratch = neo_arena_scratch(m->arena);
  neo_str text = neo_str_in(&scratch);
  neo_module_print(m, &text);
  neo_diags *d = neo_diags_new(&scratch, neo_sources_new(&scratch));
  neo_module *copy =
      neo_module_parse(&scratch, m->names, d, "facts.ir", neo_str_text(&text), text.n);
  if (copy && !neo_diags_errors(d) && !neo_pass_call(copy, &target, neo_pass_wrapping) &&
      !neo_pass_call(copy, &target, neo_pass_autodiff) && !neo_diags_errors(d))
    s = check_all_sizes(f, copy, NULL, true);
  neo_arena_free(&scratch);
  return s;
}

neo_status neo_fact_check_run(void *ctx, neo_module *m, const char *pass) {
  neo_status s = NEO_OK;
  if (!pass && m->grads.n)
    s = learn_gradients(ctx, m);
  return s ? s : check_all_sizes(ctx, m, pass, false);
}
