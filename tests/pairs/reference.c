/* Results of the reference interpreter for a program. See machine.h. */
#include "tests/pairs/compilation.h"
#include "tests/pairs/graph.h"
#include <string.h>

enum { ROUNDS = 2 };

static pairs_result result_of(pairs_compilation *x, neo_arena *a, neo_tensor t, uint32_t name,
                              const neo_values *v, const double *error) {
  pairs_result r = {.name = neo_arena_strdup(a, neo_name_text(x->c.names, name)),
                    .type = (neo_type)neo_tensor_at(x->c.module, t)->type,
                    .rank = v->rank,
                    .n = v->n};
  size_t n = (size_t)v->n;
  memcpy(r.extent, v->extent, sizeof r.extent);
  r.at = neo_arena_copy(a, v->at, (n + 1) * sizeof *v->at);
  r.error = error ? neo_arena_copy(a, error, (n + 1) * sizeof *error) : NULL;
  return r;
}

void pairs_fill(pairs_compilation *x, neo_interp *p, neo_tensor t, const int64_t *sizes,
                uint64_t seed) {
  const neo_tensor_rec *r = neo_tensor_at(x->c.module, t);
  neo_values *v = neo_interp_tensor(p, t);
  const char *name = neo_name_text(x->c.names, r->name);
  const int64_t *linked = pairs_linked_input(&x->c.arena, x->program, name);
  for (int64_t k = 0; linked && k < v->n; k++)
    v->at[k].i = linked[k];
  if (linked)
    return;
  int64_t bound = r->bound.i ? neo_size_value(x->c.module, r->bound, sizes) : 0, least, below;
  neo_ends_at ends = neo_tensor_ends_at(x->c.module, t, sizes);
  for (int64_t k = 0; k < v->n && ends.given; k++) {
    neo_ends_of_element(&ends, k, &least, &below);
    v->at[k] = pairs_element(seed, name, (neo_type)r->type, below - least, (uint64_t)k);
    v->at[k].i += least;
  }
  for (int64_t k = 0; k < v->n && !ends.given; k++)
    v->at[k] = pairs_element(seed, name, (neo_type)r->type, bound, (uint64_t)k);
}

/* An output that is a state gives the state's value before the call. */
static pairs_result before(pairs_compilation *x, neo_arena *a, neo_interp *p, neo_tensor t,
                           uint32_t name) {
  pairs_result none = {.name = NULL};
  return pairs_is_kept(x->c.module, t.i)
             ? result_of(x, a, t, name, neo_interp_tensor(p, t), neo_interp_errors(p, t))
             : none;
}

static void add_kept(pairs_compilation *x, neo_arena *a, neo_interp *p, const char *entry,
                     pairs_reference *r) {
  const neo_module *m = x->c.module;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    if (!pairs_is_kept(m, t))
      continue;
    pairs_result one =
        result_of(x, a, (neo_tensor){t}, m->tensors.at[t].name,
                  neo_interp_tensor(p, (neo_tensor){t}), neo_interp_errors(p, (neo_tensor){t}));
    one.entry = entry;
    one.kept = true;
    NEO_PUSH(a, &r->results, one);
  }
}

static bool run_entry(pairs_compilation *x, neo_arena *a, neo_interp *p, uint32_t entry,
                      pairs_reference *r) {
  neo_module *m = x->c.module;
  const neo_entry_rec e = m->entries.at[entry];
  const char *name = neo_arena_strdup(a, neo_name_text(x->c.names, e.name));
  size_t first = r->results.n;
  neo_str why;
  neo_str_init(&why, a);
  for (uint32_t k = 0; k < e.outputs.n; k++) {
    neo_tensor t = {neo_list_at(m, e.outputs, k)};
    NEO_PUSH(a, &r->results, before(x, a, p, t, neo_list_at(m, e.names, k)));
  }
  if (neo_interp_run(p, entry, &why)) {
    r->verdict = PAIRS_FAILED;
    r->why = neo_str_text(&why);
    return false;
  }
  for (uint32_t k = 0; k < e.outputs.n; k++) {
    neo_tensor t = {neo_list_at(m, e.outputs, k)};
    pairs_result *one = &r->results.at[first + k];
    if (!one->name)
      *one = result_of(x, a, t, neo_list_at(m, e.names, k), neo_interp_output(p, k),
                       neo_interp_errors(p, t));
    one->entry = name;
  }
  add_kept(x, a, p, name, r);
  return true;
}

/* The entry of outputs, then that which trains, twice if anything changes. */
static void run_reference(pairs_compilation *x, neo_arena *a, pairs_reference *r) {
  neo_module *m = x->c.module;
  int64_t *sizes = pairs_sizes(x, r->program);
  neo_interp *p = neo_interp_new(&x->c.arena, m, sizes, r->program->seed);
  neo_interp_track_errors(p, true);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (m->tensors.at[t].role == NEO_ROLE_INPUT) {
      pairs_fill(x, p, (neo_tensor){t}, sizes, r->program->seed);
      NEO_PUSH(a, &r->inputs,
               result_of(x, a, (neo_tensor){t}, m->tensors.at[t].name,
                         neo_interp_tensor(p, (neo_tensor){t}), NULL));
    }
  uint32_t forward = pairs_entry(m);
  bool trains = false;
  for (uint32_t k = 0; k < m->entries.n; k++)
    trains = trains || m->entries.at[k].kind == NEO_ENTRY_TRAIN;
  r->rounds = trains || m->entries.at[forward].updates.n ? ROUNDS : 1;
  for (int round = 0; round < r->rounds; round++) {
    if (!run_entry(x, a, p, forward, r))
      return;
    for (uint32_t k = 0; k < m->entries.n; k++)
      if (m->entries.at[k].kind == NEO_ENTRY_TRAIN && !run_entry(x, a, p, k, r))
        return;
  }
}

pairs_reference pairs_evaluate(neo_arena *a, const pairs_program *p, const pairs_how *how) {
  pairs_reference r = {.program = p};
  pairs_compilation x;
  neo_str text;
  neo_str_init(&text, a);
  pairs_text(p, &text);
  r.text = neo_str_text(&text);
  pairs_how plain = {.math = how->math, .store = how->store};
  if (!pairs_open(&x, p, r.text, &plain, true)) {
    r.verdict = PAIRS_FAILED;
    r.why = "no memory file";
    return r;
  }
  if (neo_compile_front(&x.c)) {
    r.verdict = PAIRS_REJECTED;
    r.why = pairs_reason(&x, a, "frontend");
  } else if (neo_compile_passes(&x.c)) {
    r.why = pairs_reason(&x, a, "passes of the reference");
    bool told = x.c.diags && neo_diags_errors(x.c.diags) && !strstr(r.why, "internal error");
    r.verdict = told ? PAIRS_REJECTED : PAIRS_FAILED;
  } else {
    run_reference(&x, a, &r);
  }
  pairs_close(&x);
  return r;
}
