/* Definitions of the blocks of vertex functions. */
#include "tests/pairs/gen_cell.h"
#include <string.h>

void pc_add_line(cell *c, const char *text) {
  c->text = neo_arena_printf(c->g->arena, "%s  %s\n", c->text, text);
}

uint32_t pc_add_local(cell *c, ptensor t) {
  t.line = 0;
  NEO_PUSH(c->g->arena, &c->g->tensors, t);
  return (uint32_t)c->g->tensors.n - 1;
}

void pc_keep(cell *c, ptensor t) {
  t.from = neo_type_is_float(t.type) ? c->g->from : 0;
  t.smooth = t.from != 0;
  t.exact = !neo_type_is_float(t.type);
  t.given = t.found = t.reduced = false;
  t.bound = NO_EXTENT;
  t.rows = 0;
  uint32_t at = pc_add_local(c, t);
  if (c->n_made < MOST_MADE)
    c->made[c->n_made++] = at;
}

void pc_begin(cell *c, const ptensor *t) {
  c->g->n_index = 0;
  c->g->from = 0;
  for (uint32_t k = 0; k < t->rank; k++)
    (void)pg_index(c->g, t->dim[k], false);
}

/* ---- reads of what is gathered: one element, of the dimensions behind that of the children */

static const char *joined(pgen *g, const ptensor *h, const char *place, uint32_t n) {
  const char *s = neo_arena_printf(g->arena, "%s[%s", h->name, place);
  for (uint32_t d = 0; d < n; d++)
    s = neo_arena_printf(g->arena, "%s, %s", s, g->index[d].name);
  return neo_arena_printf(g->arena, "%s]", s);
}

/* Each child's row times a matrix, of its place or the same for all. */
static const char *weighted(cell *c, const ptensor *h) {
  pgen *g = c->g;
  uint32_t last = h->dim[h->rank - 1], n = g->n_index;
  bool own = pg_chance(g, 50);
  uint32_t dim[] = {c->graph->places, last, last};
  uint32_t w = pv_weights(c->v, h->type, own ? dim : dim + 1, own ? 3 : 2);
  ptensor m = g->tensors.at[w];
  pg_take(g, &m);
  pg_kind(g, own ? PAIRS_R_PER_SLOT : PAIRS_R_CHILD_SUM);
  pg_kind(g, PAIRS_R_PRODUCT);
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_PRODUCT);
  const char *j = g->index[h->rank - 2].name;
  const char *places = pg_extent_text(g, c->graph->places), *end = pg_extent_text(g, last);
  const char *row = joined(g, h, "u", h->rank - 2);
  row = neo_arena_printf(g->arena, "%.*s, w]", (int)strlen(row) - 1, row);
  g->n_index = n;
  return neo_arena_printf(g->arena, "0.25*(sum[u < %s, w < %s] %s[%sw, %s]*%s)", places, end,
                          m.name, own ? "u, " : "", j, row);
}

static const char *of_children(cell *c, uint32_t which) {
  static const char *const floats[] = {"0.25*(sum[u < %s] %s)",
                                       "0.5*(max[u < %s] %s)",
                                       "min[u < %s] %s",
                                       "0.5*(mean[u < %s] %s)",
                                       "(sum[u < %s] 0.25*tanh(%s))",
                                       "(sum[u < %s where u < children] 0.25*%s)"};
  static const char *const ints[] = {"(sum[u < %s] %s)", "(max[u < %s] %s)", "(min[u < %s] %s)",
                                     "(sum[u < %s where u < children] %s)"};
  pgen *g = c->g;
  ptensor h = g->tensors.at[which];
  const char *places = pg_extent_text(g, c->graph->places);
  pg_take(g, &h);
  bool is_float = neo_type_is_float(h.type);
  if (is_float && h.rank > 1 && h.type != NEO_BF16_T && pg_chance(g, 40))
    return weighted(c, &h);
  if (pg_chance(g, 20)) {
    const char *first = pg_chance(g, 60) ? "0" : neo_arena_printf(g->arena, "%s - 1", places);
    return joined(g, &h, first, h.rank - 1);
  }
  const char *read = joined(g, &h, "u", h.rank - 1);
  g->has |= PAIRS_BIT(h.type == NEO_BOOL_T ? PAIRS_ANY : PAIRS_SUM);
  if (h.type == NEO_BOOL_T)
    return neo_arena_printf(g->arena, pg_chance(g, 50) ? "(any[u < %s] %s)" : "(all[u < %s] %s)",
                            places, read);
  return is_float ? neo_arena_printf(g->arena, PG_PICK(g, floats), places, read)
                  : neo_arena_printf(g->arena, PG_PICK(g, ints), places, read);
}

/* ---- definitions of the block */

static neo_type made_type(pgen *g) {
  static const neo_type all[] = {NEO_F32_T, NEO_F32_T, NEO_F32_T, NEO_F32_T,
                                 NEO_F64_T, NEO_F64_T, NEO_I32_T, NEO_BOOL_T};
  return PG_PICK(g, all);
}

static ptensor draw_tensor(cell *c) {
  static const uint32_t ranks[] = {0, 1, 1, 1, 1, 2};
  pgen *g = c->g;
  ptensor t = pg_result(g, made_type(g), NULL, 0);
  uint32_t rank = PG_PICK(g, ranks);
  int64_t work = 1;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t e = pg_extent(g);
    work *= g->extents.at[e].now;
    if (work > MOST_ROW_WORK)
      break;
    t.dim[t.rank++] = e;
  }
  return t;
}

/* Like what one of the children gave, or another shape. */
static ptensor draw_like(cell *c, uint32_t *which) {
  pgen *g = c->g;
  *which = UINT32_MAX;
  if (!c->n_gathered || pg_chance(g, 25))
    return draw_tensor(c);
  *which = c->gathered[pg_below(g, c->n_gathered)];
  ptensor h = g->tensors.at[*which], t = h;
  t.rank--;
  for (uint32_t d = 0; d < t.rank; d++)
    t.dim[d] = h.dim[d + 1];
  return t;
}

const char *pc_value(cell *c, const ptensor *t, uint32_t which, int depth) {
  pgen *g = c->g;
  const char *value = NULL;
  if (which != UINT32_MAX) {
    const char *x = of_children(c, which);
    return pg_damped(g, t->type, x);
  }
  if (pg_chance(g, 35))
    value = pg_reduction(g, pg_reducer(g, t->type), t->type);
  return value ? value : pg_value(g, t->type, depth);
}

static const char *defined(cell *c, const ptensor *t, uint32_t which, int depth) {
  pc_begin(c, t);
  const char *left = pg_left_of(c->g, t);
  return neo_arena_printf(c->g->arena, "%s = %s", left, pc_value(c, t, which, depth));
}

/* By what the vertex is: a label of it, or how many children it has. */
static const char *choice(cell *c, const ptensor *t) {
  pgen *g = c->g;
  const char *on = "children", *text;
  bool logical = false;
  uint64_t from = 0;
  for (uint32_t k = 0; k < c->n_rows; k++) {
    const ptensor *p = &g->tensors.at[c->local[k]];
    if (!p->rank && (p->type == NEO_I32_T || p->type == NEO_BOOL_T)) {
      on = p->name;
      logical = p->type == NEO_BOOL_T;
    }
  }
  if (!logical && c->plain && *on == 'c')
    return NULL;
  text = neo_arena_printf(g->arena, "%s = case %s { ", t->name, on);
  for (uint32_t k = 0; k < 3; k++) {
    uint32_t which = k && c->n_gathered ? c->gathered[0] : UINT32_MAX;
    ptensor h = which == UINT32_MAX ? *t : g->tensors.at[which];
    bool like = which != UINT32_MAX && h.type == t->type && h.rank == t->rank + 1;
    for (uint32_t d = 0; like && d < t->rank; d++)
      like = h.dim[d + 1] == t->dim[d];
    const char *label = logical ? (k ? "false" : "true") : k < 2 ? (k ? "1" : "0") : "else";
    if (logical && k == 2)
      break;
    text = neo_arena_printf(g->arena, "%s%s { %s } ", text, label,
                            defined(c, t, like ? which : UINT32_MAX, 1));
    from |= g->from;
  }
  g->from = from;
  pg_kind(g, PAIRS_R_VERTEX_CASE);
  return neo_arena_printf(g->arena, "%s}", text);
}

static uint32_t some_made(cell *c, bool is_float) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < c->n_made; k++) {
    neo_type t = c->g->tensors.at[c->made[k]].type;
    if ((!is_float || t == NEO_F32_T || t == NEO_F64_T) && pg_below(c->g, ++n) == 0)
      at = c->made[k];
  }
  return at;
}

/* A loop of its own for each vertex. */
static bool rounds(cell *c) {
  pgen *g = c->g;
  uint32_t from = some_made(c, true), e = pg_extent(g);
  if (from == UINT32_MAX || g->extents.at[e].now > 5)
    return false;
  ptensor x = g->tensors.at[from], y = x;
  const char *carry = pg_name(g, "b");
  y.name = pg_name(g, "b");
  pc_begin(c, &x);
  const char *left = pg_left(g, carry, x.rank);
  ptensor h = x;
  h.name = carry;
  uint32_t at = pc_add_local(c, h);
  const char *read = pg_read_plain(g, at), *end = pg_extent_text(g, e);
  g->index[g->n_index++] = (pindex){.name = "r", .extent = e, .reduced = true};
  const char *value = pg_value(g, x.type, 1);
  g->tensors.at[at] = x; /* nothing else may read the carry */
  g->from |= x.from;
  pg_kind(g, PAIRS_R_NESTED);
  pc_add_line(c, neo_arena_printf(
                     g->arena, "%s = scan r < %s%s from %s = %s { next %s = %s*0.5 + %s }", y.name,
                     end, pg_chance(g, 30) ? " down" : "", carry, x.name, left, read, value));
  pc_keep(c, y);
  return true;
}

/* Loops in loops, each vertex with as many iterations as its own values ask for. */
static void nested_rounds(cell *c) {
  ptensor made[PG_MOST_RESULTS];
  uint32_t n;
  pc_add_line(c, pg_block_loop(c->g, made, &n));
  for (uint32_t k = 0; k < n && c->n_made < MOST_MADE; k++)
    c->made[c->n_made++] = pc_add_local(c, made[k]);
}

/* The gradient of something of the vertex with respect to a row of an input. */
static bool inner_gradient(cell *c) {
  pgen *g = c->g;
  const ptensor p = g->tensors.at[c->local[0]];
  if (!p.rank || !c->outer[c->argument[0]].given || (p.type != NEO_F32_T && p.type != NEO_F64_T))
    return false;
  const char *s = pg_name(g, "b"), *q = pg_name(g, "b");
  ptensor d = p;
  d.name = pg_name(g, "b");
  uint32_t more = pv_weights(c->v, p.type, p.dim, p.rank);
  ptensor w = g->tensors.at[more];
  pc_begin(c, &p);
  pg_take(g, &w);
  pg_take(g, &p);
  const char *left = pg_left(g, q, p.rank), *x = pg_read_plain(g, c->local[0]),
             *y = pg_read_plain(g, more), *has = "";
  if (c->n_gathered) {
    uint32_t which = c->gathered[pg_below(g, c->n_gathered)];
    ptensor h = g->tensors.at[which];
    bool like = h.type == p.type && h.rank == p.rank + 1;
    for (uint32_t k = 0; like && k < p.rank; k++)
      like = h.dim[k + 1] == p.dim[k];
    if (like)
      has = neo_arena_printf(g->arena, " + %s", of_children(c, which));
  }
  pc_add_line(c, neo_arena_printf(g->arena, "%s : %s = sin(%s*%s%s)", left, pg_type_text(p.type), x,
                                  y, has));
  pc_add_line(c, neo_arena_printf(g->arena, "%s = sum[..] %s[..]*%s[..]", s, q, q));
  pc_add_line(c, neo_arena_printf(g->arena, "%s = grad(%s, %s)", d.name, s, p.name));
  pg_kind(g, PAIRS_R_INNER_GRAD);
  pc_keep(c, d);
  return true;
}

static void parameter(cell *c) {
  pgen *g = c->g;
  uint32_t dim[2], rank = 0;
  for (uint32_t k = 0; k < g->extents.n && rank < 2; k++)
    if (!g->extents.at[k].runtime && pg_chance(g, 40))
      dim[rank++] = k;
  ptensor t = pg_result(g, NEO_F32_T, dim, rank);
  t.name = pg_name(g, "b");
  t.given = t.smooth = t.exact = true;
  t.from = (uint64_t)1 << PARAMETER;
  pc_begin(c, &t);
  const char *type = pg_type_text(t.type), *left = pg_left_of(g, &t);
  const char *value = rank > 1
                          ? neo_arena_printf(g->arena, "%s((5*i + 3*j) %% 8)*0.25 - 0.75", type)
                      : rank > 0 ? neo_arena_printf(g->arena, "%s((3*i) %% 8)*0.25 - 0.75", type)
                                 : "0.75";
  g->has |= PAIRS_BIT(PAIRS_PARAM);
  pc_add_line(c, neo_arena_printf(g->arena, "param %s = %s", left, value));
  (void)pc_add_local(c, t);
}

static void define(cell *c) {
  pgen *g = c->g;
  uint64_t roll = pg_below(g, 100);
  uint32_t which;
  if (g->nested && roll >= 56 && c->g->tensors.n < MOST_TENSORS) {
    nested_rounds(c);
    return;
  }
  if (roll < 8 && rounds(c))
    return;
  if (roll < 16 && inner_gradient(c))
    return;
  ptensor t = draw_like(c, &which);
  t.name = pg_name(g, "b");
  const char *text = NULL;
  if (roll < 32)
    text = choice(c, &t);
  if (!text && roll < 40 && t.rank) {
    pc_begin(c, &t);
    pg_kind(g, PAIRS_R_INSIDE);
    (void)pg_self_text(g, &t, &text);
  }
  if (!text && roll < 56 && which != UINT32_MAX) { /* for each child */
    t = g->tensors.at[which];
    t.name = pg_name(g, "b");
    pc_begin(c, &t);
    const char *left = pg_left_of(g, &t), *read = pg_read_plain(g, which);
    text = neo_arena_printf(g->arena, "%s = %s", left, pg_damped(g, t.type, read));
  }
  pc_add_line(c, text ? text : defined(c, &t, which, 2));
  pc_keep(c, t);
}

void pc_block(cell *c) {
  pgen *g = c->g;
  if (pg_chance(g, 40))
    parameter(c);
  uint32_t n = 1 + (uint32_t)pg_below(g, 4);
  for (uint32_t k = 0; k < n || !c->n_made; k++)
    define(c);
}
