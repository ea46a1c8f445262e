/* Holds the kernels of a plan against the module that they were made of. */
#include "ir/store.h"
#include "ir/trip_count.h"
#include "tools/pipeline/compile.h"
#include "tools/pipeline/facts_parts.h"
#include "tools/pipeline/plan_run.h"
#include <string.h>

typedef struct { /* an entry on one choice of inputs */
  neo_compilation *c;
  neo_arena *a;
  const int64_t *sizes; /* by id */
  neo_interp *interp;
  const neo_entry_rec *of;
  neo_plan_run run;
  neo_str why;
} plan_check;

/* ---- expected results */

static bool is_computed(const neo_module *m, neo_tensor t) {
  neo_role role = (neo_role)neo_tensor_at(m, t)->role;
  return role == NEO_ROLE_TEMP || role == NEO_ROLE_UPDATE;
}

static void add_once(neo_arena *a, neo_map *seen, neo_tensors *out, neo_tensor t) {
  if (neo_map_get(seen, t.i, NULL))
    return;
  neo_map_set(seen, t.i, 1);
  NEO_PUSH(a, out, t);
}

/* All tensors that the entry's groups write or that it returns. */
static neo_tensors roots_of(plan_check *x) {
  neo_tensors out = {0};
  const neo_plan *p = x->c->plan;
  const neo_rt_entry *e = x->run.entry;
  neo_map seen = neo_map_in(x->a);
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps; i++) {
    int32_t g = p->step_group.at[i];
    for (size_t k = 0; g >= 0 && k < x->c->grouping.groups.at[g].roots.n; k++)
      if (is_computed(x->c->module, x->c->grouping.groups.at[g].roots.at[k]))
        add_once(x->a, &seen, &out, x->c->grouping.groups.at[g].roots.at[k]);
  }
  for (uint32_t k = 0; k < x->of->outputs.n; k++)
    add_once(x->a, &seen, &out, neo_list_tensor(x->c->module, x->of->outputs, k));
  for (uint32_t k = 0; k < x->of->updates.n; k++)
    add_once(x->a, &seen, &out, neo_list_tensor(x->c->module, x->of->updates, k));
  return out;
}

static void count(plan_check *x, neo_fact_outcome k) {
  neo_fact_count(x->c->facts, NEO_FACT_OF_PLANS, k, 1);
}

/* Computes the expected results. False: there are none, because that would take too long or no
 * valid inputs were found. */
static bool expect(plan_check *x, uint32_t number) {
  neo_str why = neo_str_in(x->a);
  neo_tensors roots = roots_of(x);
  bool training = x->of->kind == NEO_ENTRY_TRAIN || x->of->kind == NEO_ENTRY_GRAD;
  x->interp = neo_interp_new(x->a, x->c->module, x->sizes, 1);
  neo_interp_track_errors(x->interp, true);
  neo_interp_limit(x->interp, NEO_FACT_WORK);
  bool possible = neo_fact_draw(x->c->module, x->interp, x->sizes, number);
  neo_status s =
      possible ? neo_interp_eval(x->interp, roots.at, roots.n, training, &why) : NEO_INPUT;
  count(x, !s                     ? NEO_FACT_DONE
           : !possible            ? NEO_FACT_NO_INPUTS
           : s == NEO_INTERRUPTED ? NEO_FACT_LONG
                                  : NEO_FACT_REFUSED);
  return !s;
}

/* ---- given tensors */

/* The tensor of the caller, the context or the library whose elements are in this buffer; 0: none.
 * A tensor without bytes has the same address as the next one. */
static neo_tensor given_in(const plan_check *x, const neo_plan_region *r) {
  const neo_module *m = x->c->module;
  bool kept = r->mem == NEO_RT_MEM_PARAM || r->mem == NEO_RT_MEM_STATE;
  const neo_plan *p = x->c->plan;
  for (size_t k = 0; k < p->tensors.n; k++) {
    const neo_rt_tensor *t = &p->tensors.at[k];
    const neo_rt_buf *b = &p->bufs.at[t->buf];
    if (b->mem == r->mem && b->offset == r->offset && (b->size_bytes > 0) == (r->size_bytes > 0) &&
        (kept || t->role == NEO_RT_ROLE_INPUT))
      return neo_tensor_find(m, t->name);
  }
  return r->mem == NEO_RT_MEM_CONST ? r->like : (neo_tensor){0};
}

static void give(plan_check *x) {
  neo_plan_memory *mem = &x->run.memory;
  for (size_t b = 0; b < x->c->plan->bufs.n; b++) {
    neo_plan_region *r = mem->region[b];
    neo_tensor t = r ? given_in(x, r) : (neo_tensor){0};
    const neo_values *v = t.i ? neo_interp_tensor(x->interp, t) : NULL;
    for (int64_t k = 0; v && k < v->n && k < r->n; k++) {
      r->at[k] = v->at[k];
      r->cell[k] = (neo_plan_cell){.time = ++mem->time, .tensor = t};
    }
  }
}

/* ---- comparing */

/* Reports a difference, "entry forward, kernel y: ...". A kernel that refuses its input has put its
 * name into the message itself. */
static neo_status report(plan_check *x) {
  static const char names_itself[] = "kernel ";
  const char *why = neo_str_text(&x->why), *kernel = x->run.kernel;
  if (!kernel || !strncmp(why, names_itself, sizeof names_itself - 1))
    kernel = NULL;
  char *text =
      neo_arena_printf(x->c->module->arena, "entry %s, %s%s%s%s", x->run.entry->name,
                       kernel ? names_itself : "", kernel ? kernel : "", kernel ? ": " : "", why);
  neo_diag(x->c->diags, 0, NEO_D_INTERNAL, text);
  x->c->why = "what was lowered breaks a fact";
  return NEO_INTERNAL;
}

/* Reports element `of` of t, which is element `at` of its memory. */
static neo_status differs(plan_check *x, neo_tensor t, int64_t of, int64_t at, neo_value got) {
  neo_type type = neo_tensor_type(x->c->module, t);
  neo_plan_add_element(&x->why, x->c->module, x->sizes, t, at);
  neo_str_add(&x->why, " is ");
  neo_fact_add_value(&x->why, type, got);
  neo_str_add(&x->why, ", and should be ");
  neo_fact_add_value(&x->why, type, neo_interp_tensor(x->interp, t)->at[of]);
  return report(x);
}

static bool is_right(plan_check *x, neo_tensor t, int64_t at, neo_value got) {
  const double *error = neo_interp_errors(x->interp, t);
  neo_type type = neo_tensor_type(x->c->module, t);
  return neo_fact_same(type, neo_interp_tensor(x->interp, t)->at[at], got, error ? error[at] : 0);
}

static neo_cells_at tensor_cells_at(const neo_module *m, neo_tensor t, const int64_t *sizes) {
  neo_cells_at c = {.rank = neo_tensor_rank(m, t)};
  int64_t all[16], stride = 1;
  uint32_t n_outer;
  neo_expr in_row = neo_store_in_row(m, t, &n_outer);
  neo_tensor_elements_at(m, t, sizes, all);
  for (uint32_t d = c.rank; d-- > 0;) {
    c.extent[d] = neo_size_value(m, neo_tensor_extent(m, t, d), sizes);
    if (in_row.i && d + 1 == n_outer)
      stride = all[n_outer];
    c.stride[d] = stride;
    for (neo_tensor in = t; neo_tensor_at(m, in)->within.i; in = neo_tensor_at(m, in)->within)
      c.first += stride * neo_size_value(m, neo_list_expr(m, neo_tensor_at(m, in)->at, d), sizes);
    stride *= d < n_outer ? all[d] : c.extent[d];
  }
  c.first += in_row.i ? neo_size_value(m, in_row, sizes) : 0;
  return c;
}

/* The position of an element, by its number in row-major order; the element has to exist. */
static int64_t cell_of_element(const neo_cells_at *c, int64_t element) {
  int64_t at = c->first;
  for (uint32_t d = c->rank; d-- > 0; element /= c->extent[d])
    at += c->stride[d] * (element % c->extent[d]);
  return at;
}

/* Is it false in the condition of a loop that ends early? All of it is false before the loop runs,
 * and stays so where a `case` takes another branch (fusion/recurrence/early_exit/ends.c); the
 * interpreter computes all branches. A loop that ends too early has other results. */
static bool is_fill(plan_check *x, neo_tensor t, neo_value got) {
  neo_module *m = x->c->module;
  bool is = false;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t) && !got.i && !is; k++)
    is = neo_stays_false(m, t, k);
  return is;
}

/* The element of tensor t that is wrong and was written first, from time `since` on; *at is its
 * position in the memory. -1: none. */
static int64_t first_wrong(plan_check *x, const neo_plan_region *r, neo_tensor t, uint64_t since,
                           int64_t *at) {
  int64_t first = -1, n = neo_interp_tensor(x->interp, t)->n;
  neo_cells_at cells = tensor_cells_at(x->c->module, t, x->sizes);
  for (int64_t k = 0; k < n; k++) {
    int64_t cell = cell_of_element(&cells, k);
    if (cell < r->n && r->cell[cell].time > since && r->cell[cell].tensor.i == t.i &&
        (first < 0 || r->cell[cell].time < r->cell[*at].time) && !is_right(x, t, k, r->at[cell]) &&
        !is_fill(x, t, r->at[cell])) {
      first = k;
      *at = cell;
    }
  }
  return first;
}

/* The region to which steps [from, to) write tensor t; null: none of them does. */
static const neo_plan_region *written_to(const plan_check *x, int32_t from, int32_t to,
                                         neo_tensor t) {
  int64_t shift;
  const neo_plan *p = x->c->plan;
  for (int32_t i = from; i < to; i++) {
    const neo_rt_step *s = &p->steps.at[i];
    for (int32_t k = s->first; s->op == NEO_RT_STEP_RUN && k < s->first + s->n; k++)
      if (p->arg_tensors.at[k].i == t.i)
        return neo_plan_region_of(&x->run.memory, p->args.at[k], &shift);
  }
  return NULL;
}

static neo_status compare_group(plan_check *x, int32_t from, int32_t to, uint64_t since) {
  int32_t g = x->c->plan->step_group.at[from];
  const neo_plan_region *worst = NULL;
  neo_tensor of = {0};
  int64_t element = 0, at = 0, cell = 0;
  for (size_t k = 0; g >= 0 && k < x->c->grouping.groups.at[g].roots.n; k++) {
    neo_tensor t = x->c->grouping.groups.at[g].roots.at[k];
    const neo_plan_region *r = written_to(x, from, to, t);
    int64_t wrong = r && is_computed(x->c->module, t) ? first_wrong(x, r, t, since, &cell) : -1;
    if (wrong < 0 || (worst && worst->cell[at].time < r->cell[cell].time))
      continue;
    worst = r;
    of = t;
    element = wrong;
    at = cell;
  }
  return worst ? differs(x, of, element, at, worst->at[at]) : NEO_OK;
}

/* Checks a result, for the caller or the next call: all elements must be written and right. */
static neo_status compare_result(plan_check *x, int32_t number, neo_tensor t) {
  const neo_rt_tensor *to = &x->c->plan->tensors.at[number];
  const neo_plan_region *r = x->run.memory.region[to->buf];
  int64_t n = neo_interp_tensor(x->interp, t)->n;
  for (int64_t k = 0; r && k < r->n && k < n; k++) {
    if (r->cell[k].time && is_right(x, t, k, r->at[k]))
      continue;
    if (r->cell[k].time)
      return differs(x, t, k, k, r->at[k]);
    neo_str_add(&x->why, "at the end nothing has written ");
    neo_plan_add_element(&x->why, x->c->module, x->sizes, t, k);
    return report(x);
  }
  return NEO_OK;
}

static int32_t kept_number(const plan_check *x, neo_tensor t) {
  const char *name = neo_name_text(x->c->names, neo_tensor_at(x->c->module, t)->name);
  int32_t k = 0;
  while (!neo_streq(x->c->plan->tensors.at[k].name, name))
    k++;
  return k;
}

static neo_status compare_results(plan_check *x) {
  const neo_module *m = x->c->module;
  const neo_rt_entry *e = x->run.entry;
  neo_status s = NEO_OK;
  for (uint32_t k = 0; k < x->of->outputs.n && !s; k++)
    s = compare_result(x, x->c->plan->entry_args.at[e->args + e->n_inputs + (int32_t)k],
                       neo_list_tensor(m, x->of->outputs, k));
  for (uint32_t k = 0; k < x->of->updates.n && !s; k++) {
    neo_tensor u = {neo_list_at(m, x->of->updates, k)};
    s = compare_result(x, kept_number(x, neo_tensor_at(m, u)->updates), u);
  }
  return s;
}

/* ---- entries */

static neo_status run_steps(plan_check *x) {
  const neo_rt_entry *e = x->run.entry;
  neo_status s = NEO_OK;
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps && !s;) {
    int32_t from = i;
    uint64_t since = x->run.memory.time;
    s = neo_plan_run_group(&x->run, &i) ? report(x) : compare_group(x, from, i, since);
  }
  return s ? s : compare_results(x);
}

/* The values of all sizes. Those that lowering added are loop indices, and start at their least
 * value. */
static int64_t *all_sizes(neo_arena *a, const neo_module *m, const neo_fact_round *r) {
  int64_t *sizes = NEO_NEW_ARRAY(a, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    sizes[k] = k < r->n_sizes ? r->sizes[k] : m->sizes.at[k].lo;
  return sizes;
}

static neo_status check_entry(neo_compilation *c, uint32_t number, const neo_entry_rec *of,
                              const neo_rt_entry *e) {
  neo_status s = NEO_OK;
  const neo_fact_round *r = &c->facts->round[number];
  neo_arena a = neo_arena_scratch(&c->arena);
  plan_check x = {.c = c, .a = &a, .of = of};
  x.sizes = all_sizes(&a, c->module, r);
  neo_str_init(&x.why, &a);
  if (neo_fact_are_large(c->module, x.sizes)) {
    count(&x, NEO_FACT_LARGE);
  } else {
    x.run = neo_plan_run_new(&a, c, e, x.sizes, 1, &x.why);
    x.run.fast = number & 1;
    if (expect(&x, number)) {
      give(&x);
      s = run_steps(&x);
    }
  }
  neo_arena_free(&a);
  return s;
}

/* Checks every entry of the plan, which has the module's entries in order, except those of initial
 * values. */
neo_status neo_fact_check_plan(neo_compilation *c) {
  neo_status s = NEO_OK;
  for (uint32_t number = 0; number < NEO_FACT_ROUNDS && !s; number++) {
    size_t at = 0;
    bool sizes = c->facts->round[number].sizes;
    if (!sizes)
      neo_fact_count(c->facts, NEO_FACT_OF_PLANS, NEO_FACT_NO_SIZES, neo_fact_entries(c->module));
    for (uint32_t k = 0; k < c->module->entries.n && sizes && !s; k++) {
      neo_entry_rec of = c->module->entries.at[k];
      if (of.kind != NEO_ENTRY_INIT)
        s = check_entry(c, number, &of, &c->plan->entries.at[at++]);
    }
  }
  return s;
}
