/* Programs: sizes, inputs, a chain of definitions, the entry. */
#include "base/hash.h"
#include "base/random.h"
#include "tests/random/gen_parts.h"

const neo_gen_options neo_gen_default = {.max_defs = 6, .max_work = 20000, .has = NEO_GEN_ALL};
const neo_gen_options neo_gen_plans = {
    .max_defs = 8, .max_work = 800, .has = NEO_GEN_ALL & ~NEO_GEN_SPECIAL};

bool gen_has(const gen *g, uint32_t what) {
  return g->o->has & what;
}
uint64_t gen_below(gen *g, uint64_t n) {
  return neo_splitmix(&g->state) % n;
}
bool gen_chance(gen *g, uint32_t percent) {
  return gen_below(g, 100) < percent;
}

static uint32_t fresh_name(gen *g, const char *stem) {
  return neo_name_of(g->m->names, neo_arena_printf(g->arena, "%s%u", stem, g->names++));
}

/* ---- sizes */

static void add_runtime_size(gen *g) {
  static const int64_t highs[] = {1, 5, 9, 17, 33, 64};
  neo_size_rec rec = {.kind = NEO_SIZE_RUNTIME, .name = fresh_name(g, "N")};
  rec.lo = gen_chance(g, 30) ? 0 : 1;
  rec.hi = GEN_PICK(g, highs);
  neo_size s = neo_size_add(g->m, rec);
  int64_t now = rec.lo + (int64_t)gen_below(g, (uint64_t)(rec.hi - rec.lo + 1));
  g->sizes[s.i] = now;
  NEO_PUSH(g->arena, &g->extents, (extent){neo_size_ref(g->m, s), now, rec.lo, false});
}

/* (N + 1)/2, 2*N, or N*M as a size of its own. */
static void add_derived_size(gen *g) {
  extent x = g->extents.at[gen_below(g, g->extents.n)];
  neo_expr two = gen_int(g, 2), one = gen_int(g, 1);
  bool half = gen_chance(g, 50);
  neo_expr e = half ? neo_op2(g->m, NEO_OP_DIV, neo_op2(g->m, NEO_OP_ADD, x.e, one), two)
                    : neo_op2(g->m, NEO_OP_MUL, x.e, two);
  neo_size_rec rec = {.kind = NEO_SIZE_DERIVED, .name = fresh_name(g, "P"), .value = e, .hi = 128};
  rec.lo = half ? (x.least + 1) / 2 : 2 * x.least;
  neo_size s = neo_size_add(g->m, rec);
  int64_t now = half ? (x.now + 1) / 2 : 2 * x.now;
  g->sizes[s.i] = now;
  NEO_PUSH(g->arena, &g->extents, (extent){neo_size_ref(g->m, s), now, rec.lo, false});
}

static void add_sizes(gen *g) {
  if (!gen_has(g, NEO_GEN_RUNTIME_SIZES) || gen_chance(g, 35))
    return;
  add_runtime_size(g);
  if (gen_chance(g, 40))
    add_runtime_size(g);
  if (gen_chance(g, 30))
    add_derived_size(g);
}

/* ---- tensors */

static neo_list extent_list(gen *g, const source *s) {
  uint32_t at[5];
  for (uint32_t k = 0; k < s->rank; k++)
    at[k] = s->dim[k].e.i;
  return neo_list_new(g->m, at, s->rank);
}

void gen_add_tensor(gen *g, source *s, neo_role role, const char *stem) {
  s->t = neo_tensor_add(g->m, (neo_tensor_rec){.role = (uint8_t)role,
                                               .type = (uint8_t)s->type,
                                               .name = fresh_name(g, stem),
                                               .extent = extent_list(g, s),
                                               .bound = s->has_bound ? s->bound.e : (neo_expr){0}});
}

static void choose_dims(gen *g, source *s, int64_t limit) {
  static const uint32_t ranks[] = {0, 1, 1, 2, 2, 2, 2, 3, 3, 4, 5};
  s->rank = GEN_PICK(g, ranks);
  for (uint32_t k = 0; k < s->rank; k++) {
    s->dim[k] = gen_extent(g, limit);
    if (s->dim[k].now > 1)
      limit /= s->dim[k].now;
  }
}

static void add_input(gen *g) {
  source s = {.type = gen_type(g), .exact = true};
  choose_dims(g, &s, 4096);
  if (neo_type_is_int(s.type) && gen_has(g, NEO_GEN_LOOKUPS) && gen_chance(g, 60)) {
    s.bound = gen_extent(g, 100);
    s.has_bound = s.bound.least > 0;
  }
  gen_add_tensor(g, &s, NEO_ROLE_INPUT, "x");
  NEO_PUSH(g->arena, &g->sources, s);
}

/* ---- definitions */

static neo_axis new_axis(gen *g, neo_expr lo, neo_expr hi) {
  static const char *const stems[] = {"i", "j", "k", "n", "p", "q", "r", "s", "t", "u", "v", "w"};
  uint32_t name = neo_name_of(g->m->names, stems[g->n_axes % 12]);
  return neo_axis_add(g->m, (neo_axis_rec){.name = name, .lo = lo, .hi = hi});
}

uint32_t gen_push_axis(gen *g, neo_expr lo, neo_expr hi, const extent *end, bool reduced) {
  uint32_t id = new_axis(g, lo, hi).i;
  g->axis[g->n_axes++] = (live_axis){*end, reduced};
  return id;
}

/* Triangular: an axis before it bounds it. Its own range is the other's. */
static uint32_t triangular_axis(gen *g) {
  uint32_t k = (uint32_t)gen_below(g, g->n_axes);
  extent end = g->axis[k].end;
  neo_expr x = neo_axis_ref(g->m, k), zero = gen_int(g, 0);
  if (gen_chance(g, 50))
    return gen_push_axis(g, x, end.e, &end, true);
  return gen_push_axis(g, zero, neo_op2(g->m, NEO_OP_ADD, x, gen_int(g, 1)), &end, true);
}

/* As long as an element says; 0 if no tensor can tell. */
static uint32_t ragged_axis(gen *g, int64_t limit) {
  for (size_t k = 0; k < g->sources.n; k++) {
    source s = g->sources.at[k];
    if (!s.has_bound || s.bound.now > limit || !gen_chance(g, 60))
      continue;
    neo_expr e = gen_read(g, &s);
    if (!e.i)
      continue;
    return gen_push_axis(g, gen_int(g, 0), neo_cast(g->m, NEO_I64_T, e), &s.bound, true);
  }
  return 0;
}

static uint32_t reduction_axis(gen *g, int64_t *limit) {
  uint32_t id = g->n_axes && gen_chance(g, 12) ? triangular_axis(g) : 0;
  if (!id && gen_has(g, NEO_GEN_LOOKUPS) && gen_chance(g, 8))
    id = ragged_axis(g, *limit);
  if (!id) {
    extent end = gen_extent(g, *limit);
    id = gen_push_axis(g, gen_int(g, 0), end.e, &end, true);
  }
  int64_t n = g->axis[g->n_axes - 1].end.now;
  if (n > 1)
    *limit /= n;
  return id;
}

static neo_reducer choose_reducer(gen *g, neo_type *type, bool *exact) {
  static const neo_reducer number[] = {NEO_RED_SUM, NEO_RED_SUM, NEO_RED_SUM,
                                       NEO_RED_MAX, NEO_RED_MIN, NEO_RED_PROD};
  if (*type == NEO_BOOL_T)
    return gen_chance(g, 50) ? NEO_RED_ANY : NEO_RED_ALL;
  if (!neo_type_is_float(*type) || gen_chance(g, 75))
    return GEN_PICK(g, number);
  if (!*exact && gen_has(g, NEO_GEN_TRANSCENDENTAL) && gen_chance(g, 50))
    return NEO_RED_LOGSUMEXP;
  *exact = false;
  return NEO_RED_MEAN;
}

/* A product of reads over the reduced axes, as in every contraction. */
static neo_expr product_body(gen *g, neo_type t, bool exact) {
  neo_expr x = gen_expr(g, t, 0, exact);
  return neo_op2(g->m, NEO_OP_MUL, x, gen_expr(g, t, 0, exact));
}

static void make_reduction(gen *g, neo_def_rec *d, uint32_t *axes, neo_type *type, bool *exact) {
  int64_t limit = g->o->max_work;
  for (uint32_t k = 0; k < g->n_axes; k++)
    if (g->axis[k].end.now > 1)
      limit /= g->axis[k].end.now;
  neo_reducer r = choose_reducer(g, type, exact);
  uint32_t n = 1 + (uint32_t)gen_below(g, 3);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t at = g->n_axes;
    axes[at] = reduction_axis(g, &limit);
  }
  d->reducer = (uint8_t)r;
  bool products = r == NEO_RED_SUM && gen_chance(g, 45);
  uint32_t body[2], n_body = 1;
  body[0] = products ? product_body(g, *type, *exact).i : gen_expr(g, *type, 2, *exact).i;
  if (gen_chance(g, 25))
    d->where = gen_expr(g, NEO_BOOL_T, 2, true);
  bool picks = (r == NEO_RED_MAX || r == NEO_RED_MIN) && *exact;
  if (picks && gen_chance(g, 60)) {
    body[1] = gen_any_index(g).i;
    n_body = 2;
  }
  d->body = neo_list_new(g->m, body, n_body);
  g->acc[0] = neo_acc_ref(g->m, *type, 0);
  g->acc[1] = neo_acc_ref(g->m, NEO_I64_T, 1);
  g->n_accs = r == NEO_RED_MEAN ? 2 : n_body;
}

/* The reduction's result, perhaps with a function applied. */
neo_expr gen_finish(gen *g, neo_type t, bool exact) {
  if (!g->n_accs)
    return gen_expr(g, t, 3, exact);
  if (g->n_accs == 2 && t != NEO_BOOL_T && gen_chance(g, 40))
    return neo_cast(g->m, t, g->acc[1]);
  neo_type from = neo_expr_type(g->m, g->acc[0]);
  neo_expr acc = from == t ? g->acc[0] : neo_cast(g->m, t, g->acc[0]);
  if (t == NEO_BOOL_T || gen_chance(g, 50))
    return acc;
  static const neo_op ops[] = {NEO_OP_ADD, NEO_OP_MUL, NEO_OP_MAX, NEO_OP_SUB};
  neo_expr e = neo_op2(g->m, GEN_PICK(g, ops), acc, gen_expr(g, t, 1, exact));
  if (exact || !gen_has(g, NEO_GEN_TRANSCENDENTAL) || !neo_type_is_float(t) || gen_chance(g, 50))
    return e;
  static const neo_op last[] = {NEO_OP_RELU, NEO_OP_TANH, NEO_OP_SIGMOID, NEO_OP_EXP, NEO_OP_SQRT};
  neo_op op = GEN_PICK(g, last);
  return neo_op1(g->m, op, op == NEO_OP_SQRT ? neo_op1(g->m, NEO_OP_ABS, e) : e);
}

/* One definition of the tensors `out`, with output axes of the given ends. */
static void add_def(gen *g, source *out, uint32_t n_out, const extent *end, neo_list map) {
  uint32_t axes[12], outs[4], finish[4];
  neo_def_rec d = {.n_out = out[0].rank, .out_map = map};
  g->n_axes = g->n_accs = 0;
  for (uint32_t k = 0; k < out[0].rank; k++)
    axes[k] = gen_push_axis(g, gen_int(g, 0), end[k].e, &end[k], false);
  bool exact = out[0].exact;
  for (uint32_t k = 1; k < n_out; k++)
    exact = exact || out[k].exact;
  if (gen_has(g, NEO_GEN_REDUCTIONS) && gen_chance(g, 55)) {
    neo_type type = gen_chance(g, 80) ? out[0].type : gen_type(g);
    bool whole = exact; /* a float that becomes an integer must be exact */
    if (neo_type_is_float(type) && !neo_type_is_float(out[0].type))
      whole = true;
    bool made = whole;
    make_reduction(g, &d, axes, &type, &made);
    for (uint32_t k = 0; whole && !made && k < n_out; k++)
      out[k].exact = false;
  }
  uint32_t n_axes = g->n_axes;
  g->n_axes = d.n_out;
  for (uint32_t k = 0; k < n_out; k++) {
    finish[k] = gen_finish(g, out[k].type, out[k].exact).i;
    outs[k] = out[k].t.i;
  }
  d.axes = neo_list_new(g->m, axes, n_axes);
  d.finish = neo_list_new(g->m, finish, n_out);
  d.out = neo_list_new(g->m, outs, n_out);
  (void)neo_def_add(g->m, d, true);
}

/* ---- pieces */

static neo_list piece_map(gen *g, uint32_t rank, uint32_t dim, int64_t stride, int64_t offset) {
  uint32_t at[10];
  for (uint32_t k = 0; k < rank; k++) {
    at[2 * k] = k == dim ? (uint32_t)stride : 1;
    at[2 * k + 1] = k == dim ? (uint32_t)offset : 0;
  }
  return neo_list_new(g->m, at, 2 * (size_t)rank);
}

/* The elements p, p + stride, ... of a constant dimension. */
static void add_phases(gen *g, source *s, uint32_t dim) {
  int64_t stride = 2 + (int64_t)gen_below(g, 2), n = s->dim[dim].now;
  extent end[5];
  for (uint32_t k = 0; k < s->rank; k++)
    end[k] = s->dim[k];
  for (int64_t p = 0; p < stride; p++) {
    end[dim] = gen_constant_extent(g, n > p ? (n - p + stride - 1) / stride : 0);
    add_def(g, s, 1, end, piece_map(g, s->rank, dim, stride, p));
  }
}

static void add_parts(gen *g, source *s, uint32_t dim) {
  int64_t n = s->dim[dim].now, cut = (int64_t)gen_below(g, (uint64_t)n + 1);
  extent end[5];
  for (uint32_t k = 0; k < s->rank; k++)
    end[k] = s->dim[k];
  end[dim] = gen_constant_extent(g, cut);
  add_def(g, s, 1, end, piece_map(g, s->rank, dim, 1, 0));
  end[dim] = gen_constant_extent(g, n - cut);
  add_def(g, s, 1, end, piece_map(g, s->rank, dim, 1, cut));
}

/* A dimension of twice a run-time extent, by its even and odd elements. */
static void add_doubled(gen *g, source *s, uint32_t dim) {
  extent end[5], half = s->dim[dim];
  for (uint32_t k = 0; k < s->rank; k++)
    end[k] = s->dim[k];
  s->dim[dim] = (extent){neo_op2(g->m, NEO_OP_MUL, half.e, gen_int(g, 2)), 2 * half.now,
                         2 * half.least, false};
  neo_tensor_at(g->m, s->t)->extent = extent_list(g, s);
  for (int64_t p = 0; p < 2; p++)
    add_def(g, s, 1, end, piece_map(g, s->rank, dim, 2, p));
}

static void add_pieces(gen *g, source *s) {
  uint32_t dim = (uint32_t)gen_below(g, s->rank);
  if (!s->dim[dim].constant)
    add_doubled(g, s, dim);
  else if (gen_chance(g, 50))
    add_phases(g, s, dim);
  else
    add_parts(g, s, dim);
}

/* ---- the chain */

static source new_result(gen *g, const source *like) {
  source s = {.type = gen_type(g), .exact = gen_chance(g, 60)};
  if (like) {
    s.rank = like->rank;
    for (uint32_t k = 0; k < s.rank; k++)
      s.dim[k] = like->dim[k];
  } else {
    choose_dims(g, &s, 2048);
  }
  /* other types than floats are computed exactly */
  if (!neo_type_is_float(s.type))
    s.exact = true;
  gen_add_tensor(g, &s, NEO_ROLE_TEMP, "y");
  return s;
}

static void add_link(gen *g) {
  if (gen_has(g, NEO_GEN_REDUCTIONS) && gen_chance(g, 25)) {
    gen_contraction(g);
    return;
  }
  source s[3] = {new_result(g, NULL)};
  uint32_t n = 1;
  if (gen_has(g, NEO_GEN_PIECES) && s[0].rank && gen_chance(g, 15)) {
    add_pieces(g, s);
  } else {
    while (gen_has(g, NEO_GEN_MULTI_OUTPUT) && n < 3 && gen_chance(g, 10)) {
      s[n] = new_result(g, s);
      n++;
    }
    add_def(g, s, n, s[0].dim, (neo_list){0, 0});
  }
  for (uint32_t k = 0; k < n; k++)
    NEO_PUSH(g->arena, &g->sources, s[k]);
}

static neo_tensor add_param(gen *g, neo_role role) {
  source s = {.type = NEO_F32_T, .exact = true};
  s.rank = (uint32_t)gen_below(g, 3);
  for (uint32_t k = 0; k < s.rank; k++)
    s.dim[k] = gen_constant_extent(g, 1 + (int64_t)gen_below(g, 9));
  gen_add_tensor(g, &s, role, role == NEO_ROLE_PARAM ? "w" : "v");
  NEO_PUSH(g->arena, &g->sources, s);
  uint32_t axes[5];
  g->n_axes = g->n_accs = 0;
  for (uint32_t k = 0; k < s.rank; k++)
    axes[k] = gen_push_axis(g, gen_int(g, 0), s.dim[k].e, &s.dim[k], false);
  neo_expr e = neo_const_float(g->m, NEO_F32_T, 0.5);
  if (s.rank)
    e = neo_op2(g->m, NEO_OP_SUB, neo_cast(g->m, NEO_F32_T, neo_axis_ref(g->m, 0)), e);
  neo_def_rec d = {.axes = neo_list_new(g->m, axes, s.rank),
                   .n_out = s.rank,
                   .finish = neo_list_new(g->m, &e.i, 1),
                   .out = neo_list_new(g->m, &s.t.i, 1)};
  neo_def init = neo_def_add(g->m, d, false);
  neo_tensor_at(g->m, s.t)->init = init;
  return s.t;
}

/* A new value of a parameter, like a step of training. */
static neo_tensor add_update(gen *g, neo_tensor of) {
  source s = {0};
  for (size_t k = 0; k < g->sources.n; k++)
    if (g->sources.at[k].t.i == of.i)
      s = g->sources.at[k];
  s.exact = false;
  gen_add_tensor(g, &s, NEO_ROLE_UPDATE, "u");
  neo_tensor_at(g->m, s.t)->updates = of;
  add_def(g, &s, 1, s.dim, (neo_list){0, 0});
  return s.t;
}

static bool is_read(neo_module *m, neo_tensor t) {
  for (uint32_t k = 1; k < m->defs.n; k++) {
    neo_tensor *read;
    size_t n = neo_def_reads(m, (neo_def){k}, m->arena, &read);
    for (size_t j = 0; j < n; j++)
      if (read[j].i == t.i)
        return true;
  }
  return false;
}

static void add_entry(gen *g, neo_entry_kind kind, const char *name, const uint32_t *updates,
                      size_t n_updates) {
  neo_entry_rec e = {.kind = (uint8_t)kind, .name = neo_name_of(g->m->names, name)};
  uint32_t out[64], names[64], n = 0;
  for (uint32_t t = 1; t < g->m->tensors.n && n < 64; t++) {
    const neo_tensor_rec *r = &g->m->tensors.at[t];
    if (r->role != NEO_ROLE_TEMP || (is_read(g->m, (neo_tensor){t}) && !gen_chance(g, 20)))
      continue;
    out[n] = t;
    names[n++] = r->name;
  }
  e.outputs = neo_list_new(g->m, out, n);
  e.names = neo_list_new(g->m, names, n);
  e.updates = neo_list_new(g->m, updates, n_updates);
  NEO_PUSH(g->arena, &g->m->entries, e);
}

neo_gen_program neo_gen_make(neo_arena *a, uint64_t seed, const neo_gen_options *o) {
  gen g = {.arena = a, .state = neo_hash_mix(seed, 77), .o = o};
  g.m = neo_module_new(a, neo_names_new(a), neo_diags_new(a, neo_sources_new(a)), "random");
  g.sizes = NEO_NEW_ARRAY(a, int64_t, 8);
  add_sizes(&g);
  uint32_t n_inputs = 1 + (uint32_t)gen_below(&g, 4);
  for (uint32_t k = 0; k < n_inputs; k++)
    add_input(&g);
  neo_tensor kept[2];
  uint32_t n_kept =
      gen_has(&g, NEO_GEN_PARAMS) && gen_chance(&g, 25) ? 1 + (uint32_t)gen_below(&g, 2) : 0;
  for (uint32_t k = 0; k < n_kept; k++)
    kept[k] = add_param(&g, k ? NEO_ROLE_STATE : NEO_ROLE_PARAM);
  uint32_t n = 1 + (uint32_t)gen_below(&g, o->max_defs);
  for (uint32_t k = 0; k < n; k++)
    add_link(&g);
  uint32_t updates[2];
  for (uint32_t k = 0; k < n_kept; k++)
    updates[k] = add_update(&g, kept[k]).i;
  add_entry(&g, NEO_ENTRY_FORWARD, "forward", NULL, 0);
  if (n_kept)
    add_entry(&g, NEO_ENTRY_TRAIN, "step", updates, n_kept);
  bool special = gen_has(&g, NEO_GEN_SPECIAL) && gen_chance(&g, 8);
  return (neo_gen_program){.m = g.m, .seed = seed, .sizes = g.sizes, .special = special};
}
