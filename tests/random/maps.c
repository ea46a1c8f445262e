/* Access maps: sizes, loops, the tensors, definitions. See maps.h. */
#include "base/random.h"
#include "ir/out_map.h"
#include "tests/random/maps_parts.h"
#include <math.h>
#include <string.h>

/* ---- numbers */

int64_t map_pick(map_gen *g, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(&g->state) % (uint64_t)(hi - lo + 1));
}

bool map_chance(map_gen *g, int64_t percent) {
  return map_pick(g, 0, 99) < percent;
}

neo_expr map_int(map_gen *g, int64_t x) {
  return neo_const_int(g->m, NEO_I64_T, x);
}

neo_expr map_op(map_gen *g, neo_op op, neo_expr a, neo_expr b) {
  return neo_op2(g->m, op, a, b);
}

int64_t map_now(map_gen *g, neo_expr e) {
  const neo_node *n = neo_expr_node(g->m, e);
  neo_value x[3] = {{.i = 0}};
  if (neo_expr_is_int(g->m, e, &x[0].i))
    return x[0].i;
  if (n->op == NEO_OP_SIZE)
    return g->sizes[n->attr];
  for (uint32_t k = 0; k < n->arg.n; k++)
    x[k].i = map_now(g, neo_expr_arg(g->m, e, k));
  return neo_value_op((neo_op)n->op, (neo_type)n->type, NEO_I64_T, x).i;
}

neo_expr map_extent_of(map_gen *g, map_index x) {
  neo_expr n = map_op(g, NEO_OP_ADD, x.hi, map_int(g, 1));
  neo_linear l;
  int64_t c;
  if (neo_linear_of(g->m, n, &l))
    n = neo_linear_expr(g->m, &l);
  if (neo_expr_node(g->m, n)->op == NEO_OP_SIZE || (neo_expr_is_int(g->m, n, &c) && c >= 0))
    return n;
  return map_op(g, NEO_OP_MAX, n, map_int(g, 0));
}

/* ---- tables */

static uint32_t fresh(map_gen *g, const char *stem) {
  return neo_name_of(g->m->names, neo_arena_printf(g->arena, "%s%u", stem, g->names++));
}

neo_tensor map_tensor(map_gen *g, const char *stem, neo_role role, neo_type type, neo_expr bound,
                      const neo_expr *extent, uint32_t rank) {
  uint32_t ids[8];
  for (uint32_t k = 0; k < rank; k++)
    ids[k] = extent[k].i;
  neo_tensor_rec r = {
      .role = (uint8_t)role, .type = (uint8_t)type, .name = fresh(g, stem), .bound = bound};
  r.extent = neo_list_new(g->m, ids, rank);
  return neo_tensor_add(g->m, r);
}

static void add_sizes(map_gen *g) {
  g->n_sizes = map_chance(g, 40) ? (uint32_t)map_pick(g, 1, 2) : 0;
  g->sizes = NEO_NEW_ARRAY(g->arena, int64_t, 4);
  for (uint32_t k = 0; k < g->n_sizes; k++) {
    neo_size_rec r = {.kind = NEO_SIZE_RUNTIME, .name = fresh(g, "N")};
    r.lo = map_chance(g, 30) ? 0 : map_pick(g, 1, 2);
    r.hi = r.lo + map_pick(g, 2, 5);
    neo_size s = neo_size_add(g->m, r);
    g->sizes[s.i] = r.hi;
    g->size[k] = neo_size_ref(g->m, s);
    g->positive[k] = r.lo > 0;
  }
}

/* ---- loops */

static neo_expr some_extent(map_gen *g, int64_t limit) {
  static const int64_t nice[] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8, 9, 0};
  for (int attempt = 0; attempt < 4; attempt++) {
    neo_expr e = map_int(g, nice[map_pick(g, 0, map_chance(g, 10) ? 14 : 13)]);
    if (g->n_sizes && map_chance(g, 50))
      e = g->size[map_pick(g, 0, g->n_sizes - 1)];
    if (g->n_sizes && map_chance(g, 15))
      e = map_op(g, NEO_OP_ADD, e, map_int(g, map_pick(g, 1, 2)));
    else if (g->n_sizes && map_chance(g, 8))
      e = map_op(g, NEO_OP_MUL, e, map_int(g, 2));
    if (map_now(g, e) <= limit)
      return e;
  }
  return map_int(g, limit < 2 ? limit : 2);
}

static neo_expr data_bound(map_gen *g, uint32_t k) {
  neo_expr x = neo_axis_ref(g->m, k), one = map_op(g, NEO_OP_ADD, g->end[g->n_axes], map_int(g, 1));
  neo_tensor t = map_tensor(g, "L", NEO_ROLE_INPUT, NEO_I32_T, one, &g->end[k], 1);
  return neo_cast(g->m, NEO_I64_T, neo_load(g->m, t, &x, 1, 0));
}

/* A part of [0, end): triangular, banded, or by data. */
static void narrow(map_gen *g, neo_axis_rec *a) {
  uint32_t k = (uint32_t)map_pick(g, 0, g->n_axes - 1);
  neo_expr x = neo_axis_ref(g->m, k);
  int64_t form = map_pick(g, 0, 5);
  if (form == 5) {
    neo_expr n = data_bound(g, k);
    *(map_chance(g, 50) ? &a->hi : &a->lo) = n;
    return;
  }
  if (map_chance(g, 20))
    x = map_op(g, NEO_OP_MUL, x, map_int(g, 2));
  else if (map_chance(g, 15))
    x = map_op(g, NEO_OP_DIV, x, map_int(g, 2));
  if (form != 0) {
    neo_expr hi = map_op(g, NEO_OP_ADD, x, map_int(g, map_pick(g, 0, 3)));
    a->hi = map_op(g, NEO_OP_MIN, a->hi, hi);
  }
  if (form <= 2) {
    neo_expr lo = map_op(g, NEO_OP_SUB, x, map_int(g, map_pick(g, 0, 2)));
    a->lo = map_op(g, NEO_OP_MAX, map_int(g, 0), lo);
  }
}

static void add_axis(map_gen *g, bool reduced, int64_t *work) {
  uint32_t k = g->n_axes;
  g->end[k] = some_extent(g, *work < 9 ? *work : 9);
  int64_t now = map_now(g, g->end[k]);
  *work /= now > 0 ? now : 1;
  neo_axis_rec a = {fresh(g, reduced ? "r" : "x"), map_int(g, 0), g->end[k], 0};
  if (reduced && k && map_chance(g, 20))
    narrow(g, &a);
  g->axes[k] = neo_axis_add(g->m, a).i;
  g->n_axes++;
}

/* ---- reads */

static neo_expr zero(map_gen *g) {
  return neo_const_int(g->m, g->o->type, 0);
}

/* Chooses the tensor by its first read. */
static void first_indices(map_gen *g, neo_expr *index) {
  map_index dim[MAP_RANK];
  static const uint32_t ranks[] = {1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5, 6};
  uint32_t rank = ranks[map_pick(g, 0, 11)];
  while (g->rank < rank)
    g->rank += map_dims(g, dim + g->rank, rank - g->rank);
  int64_t room = MAP_ELEMENTS;
  bool cut = map_chance(g, 35);
  for (uint32_t d = 0; d < g->rank; d++) {
    int64_t most = room > 3 && d + 1 < g->rank ? room / 2 : room;
    if (map_now(g, map_extent_of(g, dim[d])) > most) {
      dim[d].e = map_op(g, NEO_OP_MOD, dim[d].e, map_int(g, 2));
      dim[d].hi = map_int(g, most < 2 ? 0 : 1);
      if (most < 2)
        dim[d].e = map_int(g, 0);
    }
    g->extent[d] = map_extent_of(g, dim[d]);
    if (cut) {
      int64_t by = map_pick(g, 0, 3);
      dim[d].e = map_op(g, NEO_OP_SUB, dim[d].e, map_int(g, map_pick(g, -1, 2)));
      g->extent[d] = map_op(g, NEO_OP_SUB, g->extent[d], map_int(g, by));
      g->extent[d] = map_op(g, NEO_OP_MAX, g->extent[d], map_int(g, 1));
    }
    int64_t now = map_now(g, g->extent[d]);
    room /= now > 0 ? now : 1;
    index[d] = dim[d].e;
  }
  g->guard = g->guard || cut;
  g->A = map_tensor(g, "A", NEO_ROLE_INPUT, g->o->type, (neo_expr){0}, g->extent, g->rank);
}

/* Another place of the same tensor. */
static void other_indices(map_gen *g, neo_expr *index) {
  for (uint32_t d = 0; d < g->rank; d++) {
    map_index x = map_any(g, 1);
    neo_expr end =
        map_op(g, NEO_OP_MAX, map_op(g, NEO_OP_SUB, g->extent[d], map_int(g, 1)), map_int(g, 0));
    int64_t form = map_pick(g, 0, 3);
    if (form == 0)
      x.e = neo_op3(g->m, NEO_OP_CLAMP, x.e, map_int(g, 0), end);
    else if (form == 1)
      x.e = map_op(g, NEO_OP_MOD, x.e, g->extent[d]);
    else if (form == 2)
      x.e = map_op(g, NEO_OP_SUB, x.e, map_int(g, map_pick(g, 0, 1)));
    index[d] = x.e;
  }
  g->guard = true;
}

static neo_expr read_A(map_gen *g) {
  neo_expr index[MAP_RANK + 4];
  g->guard = false;
  if (!g->A.i)
    first_indices(g, index);
  else
    other_indices(g, index);
  if (!g->guard)
    return neo_load(g->m, g->A, index, g->rank, 0);
  neo_expr other = map_chance(g, 80) ? zero(g) : neo_const_int(g->m, g->o->type, 2);
  return neo_load_else(g->m, g->A, index, g->rank, other, 0);
}

/* An input over some of the axes, read as it lies. */
static neo_expr plain_read(map_gen *g, const char *stem, neo_type type) {
  neo_expr index[MAP_AXES], extent[MAP_AXES];
  uint32_t n = 0;
  for (uint32_t k = 0; k < g->usable; k++) {
    if (!map_chance(g, 60) || n == 3)
      continue;
    index[n] = neo_axis_ref(g->m, k);
    extent[n++] = g->end[k];
  }
  neo_tensor t = map_tensor(g, stem, NEO_ROLE_INPUT, type, (neo_expr){0}, extent, n);
  return neo_load(g->m, t, index, n, 0);
}

static neo_expr condition(map_gen *g) {
  switch (map_pick(g, 0, 5)) {
  case 0:
    return plain_read(g, "M", NEO_BOOL_T);
  case 1:
    return map_op(g, NEO_OP_LT, zero(g), plain_read(g, "B", g->o->type));
  case 2: {
    neo_expr by = map_int(g, map_pick(g, 2, 4)), x = map_linear(g).e;
    return map_op(g, NEO_OP_EQ, map_op(g, NEO_OP_MOD, x, by), map_int(g, map_pick(g, 0, 1)));
  }
  case 3:
    return map_op(g, NEO_OP_NE, map_linear(g).e, map_int(g, map_pick(g, 0, 3)));
  default:
    return map_op(g, NEO_OP_LT, map_linear(g).e, map_int(g, map_pick(g, 1, 8)));
  }
}

static neo_expr weight(map_gen *g) {
  if (map_chance(g, 50))
    return plain_read(g, "B", g->o->type);
  return neo_cast(g->m, g->o->type, map_any(g, 1).e);
}

static neo_expr term(map_gen *g) {
  neo_expr x = read_A(g);
  switch (map_pick(g, 0, 9)) {
  case 0: /* one of two places: a concatenation if the condition is on an index */
    return neo_op3(g->m, NEO_OP_SELECT, condition(g), x, map_chance(g, 50) ? read_A(g) : zero(g));
  case 1:
    return map_op(g, NEO_OP_MUL, x, read_A(g));
  case 2:
    return g->o->smooth ? x : map_op(g, map_chance(g, 50) ? NEO_OP_MAX : NEO_OP_MIN, x, read_A(g));
  case 3:
    return g->o->smooth ? x : neo_op1(g->m, map_chance(g, 50) ? NEO_OP_RELU : NEO_OP_ABS, x);
  case 4:
    return x;
  default:
    return map_op(g, NEO_OP_MUL, x, weight(g));
  }
}

static neo_expr value(map_gen *g) {
  neo_expr e = term(g);
  while (map_chance(g, 25))
    e = map_op(g, map_chance(g, 70) ? NEO_OP_ADD : NEO_OP_SUB, e, term(g));
  return e;
}

/* ---- definitions */

static neo_reducer some_reducer(map_gen *g) {
  static const neo_reducer reducers[] = {NEO_RED_SUM, NEO_RED_SUM, NEO_RED_SUM,
                                         NEO_RED_SUM, NEO_RED_SUM, NEO_RED_MEAN,
                                         NEO_RED_MAX, NEO_RED_MIN, NEO_RED_PROD};
  neo_reducer r = reducers[map_pick(g, 0, g->o->smooth ? 4 : 8)];
  int64_t n = 1;
  for (uint32_t k = g->n_out; k < g->n_axes; k++)
    n *= map_now(g, g->end[k]);
  bool few = n <= (r == NEO_RED_PROD ? 5 : 16); /* what stays exact */
  return few || r == NEO_RED_MAX || r == NEO_RED_MIN ? r : NEO_RED_SUM;
}

static neo_expr finish(map_gen *g, neo_reducer r) {
  neo_expr acc = neo_acc_ref(g->m, g->o->type, 0);
  bool plain = r == NEO_RED_MAX || r == NEO_RED_MIN || r == NEO_RED_MEAN; /* inf, quotients */
  if (plain || map_chance(g, 60))
    return acc;
  g->usable = g->n_out;
  g->where = (neo_expr){0};
  switch (map_pick(g, 0, 2)) {
  case 0:
    return map_op(g, NEO_OP_MUL, acc, plain_read(g, "B", g->o->type));
  case 1:
    return map_op(g, NEO_OP_ADD, acc, read_A(g));
  default:
    return r == NEO_RED_PROD ? acc : map_op(g, NEO_OP_MUL, acc, acc);
  }
}

/* One piece of the output: Y[stride*x0 + offset, x1, ...]. The axes stand already. */
static void add_def(map_gen *g, neo_tensor y, int32_t stride, int32_t offset) {
  neo_module *m = g->m;
  bool reduces = g->n_axes > g->n_out;
  neo_def_rec d = {.axes = neo_list_new(m, g->axes, g->n_axes), .n_out = g->n_out};
  g->usable = g->n_axes;
  g->where = (neo_expr){0};
  neo_expr e = value(g), zero_f = zero(g);
  if (reduces && map_chance(g, 25)) {
    neo_expr c = condition(g);
    g->where = g->where.i ? map_op(g, NEO_OP_AND, g->where, c) : c;
  }
  if (!reduces && g->where.i)
    e = neo_op3(m, NEO_OP_SELECT, g->where, e, zero_f);
  d.reducer = NEO_RED_NONE;
  if (reduces) {
    d.reducer = (uint8_t)some_reducer(g);
    d.where = g->where;
    d.body = neo_list_new(m, &e.i, 1);
    e = finish(g, (neo_reducer)d.reducer);
  }
  d.finish = neo_list_new(m, &e.i, 1);
  d.out = neo_list_new(m, &y.i, 1);
  if (stride > 1) {
    neo_out_dim map[MAP_AXES];
    for (uint32_t k = 0; k < g->n_out; k++)
      map[k] = k ? (neo_out_dim){1, 0} : (neo_out_dim){(int32_t)stride, (int32_t)offset};
    d.out_map = neo_out_map_new(m, map, g->n_out);
  }
  neo_def_add(m, d, true);
}

static neo_tensor make_output(map_gen *g) {
  int64_t work = MAP_WORK;
  g->n_out = (uint32_t)map_pick(g, 0, 4);
  uint32_t n_red = (uint32_t)map_pick(g, 0, g->n_out > 2 ? 2 : 3);
  if (g->windows) {
    g->n_out = (uint32_t)map_pick(g, 1, 3);
    n_red = (uint32_t)map_pick(g, 1, 2);
  }
  for (uint32_t k = 0; k < g->n_out; k++)
    add_axis(g, false, &work);
  for (uint32_t k = 0; k < n_red; k++)
    add_axis(g, true, &work);
  neo_expr extent[MAP_AXES];
  memcpy(extent, g->end, sizeof extent);
  int32_t pieces = g->n_out && map_chance(g, 8) ? 2 : 1;
  if (pieces > 1)
    extent[0] = map_op(g, NEO_OP_MUL, extent[0], map_int(g, pieces));
  neo_tensor y = map_tensor(g, "Y", NEO_ROLE_TEMP, g->o->type, (neo_expr){0}, extent, g->n_out);
  for (int32_t k = 0; k < pieces; k++)
    add_def(g, y, pieces, k);
  return y;
}

neo_gen_program neo_map_make(neo_arena *a, uint64_t seed, const neo_map_options *o) {
  neo_names *names = neo_names_new(a);
  neo_module *m = neo_module_new(a, names, neo_diags_new(a, neo_sources_new(a)), "map");
  map_gen g = {.m = m, .arena = a, .o = o, .state = seed};
  g.windows = map_chance(&g, 30);
  add_sizes(&g);
  neo_tensor y = make_output(&g);
  neo_entry_rec e = {.kind = NEO_ENTRY_FORWARD, .name = neo_name_of(names, "forward")};
  e.outputs = neo_list_new(m, &y.i, 1);
  e.names = neo_list_new(m, &neo_tensor_at(m, y)->name, 1);
  NEO_PUSH(a, &m->entries, e);
  return (neo_gen_program){.m = m, .seed = seed, .sizes = g.sizes};
}

/* ---- values */

static bool has_mean(const neo_module *m) {
  for (uint32_t d = 1; d < m->defs.n; d++)
    if (m->defs.at[d].reducer == NEO_RED_MEAN)
      return true;
  return false;
}

neo_interp *neo_map_interp(neo_arena *a, neo_module *m, const int64_t *sizes, uint64_t seed) {
  neo_interp *p = neo_interp_new(a, m, sizes, seed);
  neo_gen_program g = {.m = m, .seed = seed, .sizes = NEO_NEW_ARRAY(a, int64_t, m->sizes.n + 1)};
  for (uint32_t k = 1; k < m->sizes.n; k++)
    g.sizes[k] = sizes[k];
  bool mean = has_mean(m);
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    const neo_tensor_rec *r = &m->tensors.at[t];
    if (r->role != NEO_ROLE_INPUT)
      continue;
    neo_values *v = neo_interp_tensor(p, (neo_tensor){t});
    const char *name = neo_name_text(m->names, r->name);
    double scale = mean && name[0] == 'S' ? 720720 : 1;
    for (int64_t k = 0; k < v->n; k++) {
      v->at[k] = neo_gen_element(&g, (neo_tensor){t}, (uint64_t)k);
      if (neo_type_is_float((neo_type)r->type))
        v->at[k].f = rint(v->at[k].f * 1.5) * scale;
    }
    v->known = true;
  }
  return p;
}
