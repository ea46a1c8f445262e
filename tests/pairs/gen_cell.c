/* Vertex functions. While a block is written, what has no place in it (tensors with rows, and what depends on the
 * batch) is hidden behind a tensor that does; what the block defines is a tensor until it ends. */
#include "tests/pairs/gen_vertex.h"
#include <string.h>

enum { MOST_ARGUMENTS = 5, MOST_MADE = 12, MOST_PUSHED = 3 };

typedef struct {
  pvertices *v;
  pgen *g;
  const pgraph *graph;
  bool plain, down;    /* plain: a function without gathers */
  const char *name, *text;
  ptensor outer[MOST_TENSORS + 8]; /* what there was before */
  size_t n_outer;
  uint32_t argument[MOST_ARGUMENTS], local[MOST_ARGUMENTS], n_arguments, n_rows;
  uint32_t gathered[MOST_GATHERS], n_gathered;
  uint64_t scattered[MOST_GATHERS]; /* of which tensors it is a smooth function */
  uint32_t made[MOST_MADE], n_made;
  uint32_t pushed[MOST_PUSHED], n_pushed;
} cell;

static void add_line(cell *c, const char *text) {
  c->text = neo_arena_printf(c->g->arena, "%s  %s\n", c->text, text);
}

static uint32_t add_local(cell *c, ptensor t) {
  t.line = 0;
  NEO_PUSH(c->g->arena, &c->g->tensors, t);
  return (uint32_t)c->g->tensors.n - 1;
}

static void keep(cell *c, ptensor t) {
  t.from = neo_type_is_float(t.type) ? c->g->from : 0;
  t.smooth = t.from != 0;
  t.exact = !neo_type_is_float(t.type);
  t.given = t.found = t.reduced = false;
  t.bound = NO_EXTENT;
  t.rows = 0;
  uint32_t at = add_local(c, t);
  if (c->n_made < MOST_MADE)
    c->made[c->n_made++] = at;
}

static void begin(cell *c, const ptensor *t) {
  c->g->n_index = 0;
  c->g->from = 0;
  for (uint32_t k = 0; k < t->rank; k++)
    (void)pg_index(c->g, t->dim[k], false);
}

/* ---- arguments */

static void add_argument(cell *c, uint32_t outer) {
  for (uint32_t k = 0; k < c->n_arguments; k++)
    if (c->argument[k] == outer)
      return;
  if (c->n_arguments < MOST_ARGUMENTS)
    c->argument[c->n_arguments++] = outer;
}

static void choose_arguments(cell *c) {
  pvertices *v = c->v;
  pgen *g = c->g;
  uint32_t n = 1 + (uint32_t)pg_below(g, 3);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t at = pv_some_rows(v, c->graph, 0, 2, k == 0);
    if (at != UINT32_MAX)
      add_argument(c, at);
  }
  c->n_rows = c->n_arguments;
  for (uint32_t k = 0; k < g->tensors.n && c->n_arguments < MOST_ARGUMENTS; k++)
    if (pv_is_shared(v, &g->tensors.at[k]) && g->tensors.at[k].rank < 3 && pg_chance(g, 12))
      add_argument(c, k);
}

/* Their parameters are tensors of the block. */
static const char *signature(cell *c) {
  pgen *g = c->g;
  const char *text = "";
  for (uint32_t k = 0; k < c->n_arguments; k++) {
    const ptensor *x = &c->outer[c->argument[k]];
    ptensor p = *x;
    bool row = k < c->n_rows;
    p.name = pg_name(g, "p");
    p.rank = x->rank - row;
    p.rows = 0;
    p.given = true;
    for (uint32_t d = 0; row && d < p.rank; d++)
      p.dim[d] = x->dim[d + 1];
    const char *shape = pg_shape(g, p.dim, p.rank);
    text = neo_arena_printf(g->arena, "%s%s%s%s", text, k ? ", " : "", p.name, shape);
    c->local[k] = add_local(c, p);
  }
  return text;
}

/* Nothing of the block reads what belongs to vertices; it comes as an argument. */
static void hide(cell *c) {
  pgen *g = c->g;
  c->n_outer = g->tensors.n;
  for (uint32_t k = 0; k < c->n_outer; k++) {
    c->outer[k] = g->tensors.at[k];
    if (!pv_is_shared(c->v, &c->outer[k]))
      g->tensors.at[k] = g->tensors.at[0];
  }
}

/* Inputs that were made on the way stay, and change places. */
static void show(cell *c) {
  pgen *g = c->g;
  size_t n = c->n_outer;
  memcpy(g->tensors.at, c->outer, n * sizeof *c->outer);
  for (size_t k = n; k < g->tensors.n; k++)
    if (g->tensors.at[k].line)
      g->tensors.at[n++] = g->tensors.at[k];
  g->tensors.n = n;
}

/* The bits of tensors before and after that. */
static uint64_t moved(const cell *c, uint64_t from) {
  const pgen *g = c->g;
  uint64_t to = from & ((uint64_t)1 << PARAMETER);
  size_t n = c->n_outer;
  for (size_t k = 0; k < g->tensors.n && k < PARAMETER; k++) {
    if (k >= c->n_outer && !g->tensors.at[k].line)
      continue;
    size_t at = k < c->n_outer ? k : n++;
    to |= (from >> k & 1) << at;
  }
  return to;
}

/* ---- gathers */

static const char *none_text(pgen *g, neo_type t) {
  static const char *const floats[] = {"0", "0", "0.5", "-0.25", "1"},
                           *const ints[] = {"0", "1", "-1", "3"};
  if (t == NEO_BOOL_T)
    return pg_chance(g, 50) ? "true" : "false";
  return neo_type_is_float(t) ? PG_PICK(g, floats) : PG_PICK(g, ints);
}

/* Bools have no sum, which parents would make of them. */
static neo_type gathered_type(const cell *c) {
  static const neo_type all[] = {NEO_F32_T, NEO_F32_T, NEO_F32_T, NEO_F32_T,  NEO_F64_T, NEO_F64_T,
                                 NEO_I32_T, NEO_I32_T, NEO_I64_T, NEO_BF16_T, NEO_BOOL_T};
  neo_type t = PG_PICK(c->g, all);
  return c->down && t == NEO_BOOL_T ? NEO_I32_T : t;
}

static ptensor draw_gathered(cell *c, uint32_t k) {
  static const uint32_t ranks[] = {1, 1, 1, 1, 0, 2};
  pgen *g = c->g;
  ptensor t = pg_result(g, gathered_type(c), NULL, 0);
  uint32_t rank = PG_PICK(g, ranks);
  int64_t work = g->extents.at[c->graph->places].now;
  t.name = pg_name(g, "h");
  t.dim[t.rank++] = c->graph->places;
  for (uint32_t d = 0; d < rank; d++) {
    uint32_t e = pg_extent(g);
    work *= g->extents.at[e].now;
    if (work > MOST_ROW_WORK || g->extents.at[e].runtime)
      break;
    t.dim[t.rank++] = e;
  }
  t.exact = !neo_type_is_float(t.type);
  t.smooth = neo_type_is_float(t.type);
  t.from = t.smooth ? (uint64_t)1 << (GATHERED + k) : 0;
  return t;
}

static void gather(cell *c) {
  pgen *g = c->g;
  uint32_t n = pg_chance(g, 45) ? 1 : 2 + (uint32_t)pg_below(g, MOST_GATHERS - 1);
  ptensor made[MOST_GATHERS];
  const char *text = "";
  for (uint32_t k = 0; k < n; k++) {
    made[k] = draw_gathered(c, k);
    ptensor *t = &made[k];
    const char *one;
    pg_note_type(g, t->type);
    if (pg_chance(g, 70)) {
      one = neo_arena_printf(g->arena, "%s%s : %s = %s", t->name, pg_shape(g, t->dim, t->rank),
                             pg_type_text(t->type), none_text(g, t->type));
    } else {
      begin(c, t);
      const char *left = pg_left_of(g, t);
      one = neo_arena_printf(g->arena, "%s = %s", left, pg_value(g, t->type, 1));
      t->from |= t->smooth ? g->from : 0;
      pg_kind(g, PAIRS_R_NONE);
    }
    text = neo_arena_printf(g->arena, "%s%s%s", text, k ? ", " : "", one);
  }
  for (uint32_t k = 0; k < n; k++)
    c->gathered[c->n_gathered++] = add_local(c, made[k]);
  if (n > 1)
    pg_kind(g, PAIRS_R_GATHERS);
  add_line(c, neo_arena_printf(g->arena, "gather %s", text));
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
  static const char *const floats[] = {
      "0.25*(sum[u < %s] %s)", "0.5*(max[u < %s] %s)",         "min[u < %s] %s",
      "0.5*(mean[u < %s] %s)", "(sum[u < %s] 0.25*tanh(%s))", "(sum[u < %s where u < children] 0.25*%s)"};
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

static const char *value_of(cell *c, const ptensor *t, uint32_t which, int depth) {
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
  begin(c, t);
  const char *left = pg_left_of(c->g, t);
  return neo_arena_printf(c->g->arena, "%s = %s", left, value_of(c, t, which, depth));
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
  begin(c, &x);
  const char *left = pg_left(g, carry, x.rank);
  ptensor h = x;
  h.name = carry;
  uint32_t at = add_local(c, h);
  const char *read = pg_read_plain(g, at), *end = pg_extent_text(g, e);
  g->index[g->n_index++] = (pindex){"r", e, true};
  const char *value = pg_value(g, x.type, 1);
  g->tensors.at[at] = g->tensors.at[0];
  g->tensors.at[at].line = 0;
  g->from |= x.from;
  pg_kind(g, PAIRS_R_NESTED);
  add_line(c, neo_arena_printf(g->arena, "%s = scan r < %s%s from %s = %s { next %s = %s*0.5 + %s }",
                               y.name, end, pg_chance(g, 30) ? " down" : "", carry, x.name, left,
                               read, value));
  keep(c, y);
  return true;
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
  begin(c, &p);
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
  add_line(c, neo_arena_printf(g->arena, "%s : %s = sin(%s*%s%s)", left, pg_type_text(p.type), x, y,
                               has));
  add_line(c, neo_arena_printf(g->arena, "%s = sum[..] %s[..]*%s[..]", s, q, q));
  add_line(c, neo_arena_printf(g->arena, "%s = grad(%s, %s)", d.name, s, p.name));
  pg_kind(g, PAIRS_R_INNER_GRAD);
  keep(c, d);
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
  begin(c, &t);
  const char *type = pg_type_text(t.type), *left = pg_left_of(g, &t);
  const char *value = rank > 1   ? neo_arena_printf(g->arena, "%s((5*i + 3*j) %% 8)*0.25 - 0.75", type)
                      : rank > 0 ? neo_arena_printf(g->arena, "%s((3*i) %% 8)*0.25 - 0.75", type)
                                 : "0.75";
  g->has |= PAIRS_BIT(PAIRS_PARAM);
  add_line(c, neo_arena_printf(g->arena, "param %s = %s", left, value));
  (void)add_local(c, t);
}

static void define(cell *c) {
  pgen *g = c->g;
  uint64_t roll = pg_below(g, 100);
  uint32_t which;
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
    begin(c, &t);
    pg_kind(g, PAIRS_R_INSIDE);
    (void)pg_self_text(g, &t, &text);
  }
  if (!text && roll < 56 && which != UINT32_MAX) { /* for each child */
    t = g->tensors.at[which];
    t.name = pg_name(g, "b");
    begin(c, &t);
    const char *left = pg_left_of(g, &t), *read = pg_read_plain(g, which);
    text = neo_arena_printf(g->arena, "%s = %s", left, pg_damped(g, t.type, read));
  }
  add_line(c, text ? text : defined(c, &t, which, 2));
  keep(c, t);
}

/* ---- scatter and push */

static uint32_t alike(cell *c, const ptensor *h) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < c->n_made; k++) {
    const ptensor *t = &c->g->tensors.at[c->made[k]];
    bool like = t->type == h->type && t->rank + 1 == h->rank;
    for (uint32_t d = 0; like && d < t->rank; d++)
      like = t->dim[d] == h->dim[d + 1];
    if (like && pg_below(c->g, ++n) == 0)
      at = c->made[k];
  }
  return at;
}

static void scatter(cell *c) {
  pgen *g = c->g;
  bool together = pg_chance(g, 60);
  const char *text = "";
  for (uint32_t k = 0; k < c->n_gathered; k++) {
    ptensor h = g->tensors.at[c->gathered[k]], t = h;
    uint32_t like = pg_chance(g, 60) ? alike(c, &h) : UINT32_MAX;
    const char *one;
    if (like != UINT32_MAX) {
      one = neo_arena_printf(g->arena, "%s = %s", h.name, g->tensors.at[like].name);
      c->scattered[k] = g->tensors.at[like].from;
    } else {
      t.rank--;
      for (uint32_t d = 0; d < t.rank; d++)
        t.dim[d] = h.dim[d + 1];
      begin(c, &t);
      const char *left = pg_left(g, h.name, t.rank);
      one = neo_arena_printf(g->arena, "%s = %s", left, value_of(c, &t, c->gathered[k], 1));
      c->scattered[k] = g->from;
    }
    c->scattered[k] |= h.from; /* where there is no child */
    text = neo_arena_printf(g->arena, "%s%s%s", text, *text ? ", " : "", one);
    if (together && k + 1 < c->n_gathered)
      continue;
    add_line(c, neo_arena_printf(g->arena, "scatter %s", text));
    text = "";
  }
}

static void push(cell *c) {
  pgen *g = c->g;
  uint32_t n = 1 + (uint32_t)pg_below(g, MOST_PUSHED);
  for (uint32_t k = 0; k < n; k++) {
    bool early = c->n_gathered && pg_chance(g, 12);
    uint32_t at = early ? c->gathered[pg_below(g, c->n_gathered)]
                        : c->made[c->n_made - 1 - pg_below(g, c->n_made < 3 ? c->n_made : 3)];
    bool again = g->tensors.at[at].rank + 1 > MOST_RANK;
    for (uint32_t i = 0; i < c->n_pushed; i++)
      again = again || c->pushed[i] == at;
    if (again)
      continue;
    c->pushed[c->n_pushed++] = at;
    add_line(c, neo_arena_printf(g->arena, "push %s", g->tensors.at[at].name));
  }
}

/* What is gathered is a function of what is scattered. */
static uint64_t resolved(const cell *c, uint64_t from) {
  for (uint32_t round = 0; round < MOST_GATHERS; round++)
    for (uint32_t k = 0; k < c->n_gathered; k++)
      if (from >> (GATHERED + k) & 1)
        from |= c->scattered[k];
  return from & (((uint64_t)1 << GATHERED) - 1);
}

/* ---- the call */

static const char *actuals(const cell *c, const char *first) {
  const char *text = "";
  for (uint32_t k = 0; k < c->n_arguments; k++)
    text = neo_arena_printf(c->g->arena, "%s%s%s", text, k ? ", " : "",
                            first && k == 0 ? first : c->outer[c->argument[k]].name);
  return text;
}

static void take_arguments(cell *c, uint32_t helper) {
  pgen *g = c->g;
  pg_begin(g);
  g->reads = (uint64_t)1 << helper;
  for (uint32_t k = 0; k < c->n_arguments; k++)
    g->reads |= (uint64_t)1 << c->outer[c->argument[k]].line;
  (void)pg_extent_text(g, c->graph->vertices);
}

static void note(cell *c, uint64_t recurs, pairs_set has) {
  c->g->recurs |= recurs;
  c->g->has |= has;
}

static void define_results(cell *c, const ptensor *result, const char *text) {
  pgen *g = c->g;
  const char *names = "", *input = "";
  for (uint32_t k = 0; k < c->n_pushed; k++) {
    g->has |= PAIRS_BIT(pg_type_feature(result[k].type));
    names = neo_arena_printf(g->arena, "%s%s%s", names, k ? ", " : "", result[k].name);
    input = neo_arena_printf(g->arena, "%s%s%s", input, k ? "\n" : "", pg_input_text(g, &result[k]));
  }
  uint32_t at = pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION,
                                            .text = neo_arena_printf(g->arena, text, names),
                                            .name = result[0].name,
                                            .names = names,
                                            .input = input});
  c->v->batch |= (uint64_t)1 << at;
  for (uint32_t k = 0; k < c->n_pushed; k++) {
    ptensor y = result[k];
    y.line = at;
    pv_has_rows(c->v, &y, c->graph);
    NEO_PUSH(g->arena, &g->tensors, y);
  }
}

static void results_of(cell *c, ptensor *out) {
  pgen *g = c->g;
  for (uint32_t k = 0; k < c->n_pushed; k++) {
    ptensor t = g->tensors.at[c->pushed[k]], y = t;
    y.name = pg_name(g, "y");
    y.dim[0] = c->graph->vertices;
    for (uint32_t d = 0; d < t.rank; d++)
      y.dim[d + 1] = t.dim[d];
    y.rank = t.rank + 1;
    y.from = moved(c, resolved(c, t.from));
    y.smooth = neo_type_is_float(y.type) && y.from;
    y.given = false;
    y.exact = !neo_type_is_float(y.type);
    out[k] = y;
  }
}

/* Its first result is its first argument again: rounds of it. */
static void repeat(cell *c, const ptensor *result, uint32_t helper, uint64_t recurs, pairs_set has) {
  pgen *g = c->g;
  const ptensor *x = &c->outer[c->argument[0]];
  bool like = x->type == result[0].type && x->rank == result[0].rank;
  for (uint32_t k = 0; like && k < x->rank; k++)
    like = x->dim[k] == result[0].dim[k];
  if (!like || g->tensors.n > MOST_TENSORS || !pg_chance(g, 60))
    return;
  ptensor y = result[0];
  const char *z = pg_name(g, "z"), *first = pg_name(g, "z"), *more = "";
  y.name = pg_name(g, "y");
  take_arguments(c, helper);
  note(c, recurs | PAIRS_RECURS(PAIRS_R_REPEATED), has);
  for (uint32_t k = 1; k < c->n_pushed; k++)
    more = neo_arena_printf(g->arena, "%s, _", more);
  uint32_t n = c->n_pushed;
  c->n_pushed = 1;
  define_results(c, &y,
                 neo_arena_printf(g->arena, "%%s = repeat r < %d from %s = %s {\n  %s%s = %s(%s)\n  next %s = %s\n}",
                                  2 + (int)pg_below(g, 2), z, x->name, first, more, c->name,
                                  actuals(c, z), z, first));
  c->n_pushed = n;
}

static void call(cell *c, const char *head) {
  pgen *g = c->g;
  ptensor result[MOST_PUSHED];
  uint64_t recurs = g->recurs;
  pairs_set has = g->has;
  results_of(c, result);
  show(c);
  uint32_t helper = pg_end(
      g, (pairs_statement){.kind = PAIRS_HELPER,
                           .text = neo_arena_printf(g->arena, "%s {\n%s}", head, c->text),
                           .name = c->name});
  take_arguments(c, helper);
  note(c, recurs, has);
  define_results(c, result, neo_arena_printf(g->arena, "%%s = %s(%s)", c->name, actuals(c, NULL)));
  if (pg_chance(g, 30))
    repeat(c, result, helper, recurs, has);
}

static void pull_kinds(cell *c) {
  for (uint32_t k = 0; k < c->n_rows; k++)
    if (!c->outer[c->argument[k]].given)
      pg_kind(c->g, PAIRS_R_PULL);
}

static void body(cell *c) {
  pgen *g = c->g;
  if (pg_chance(g, 40))
    parameter(c);
  uint32_t n = 1 + (uint32_t)pg_below(g, 4);
  for (uint32_t k = 0; k < n || !c->n_made; k++)
    define(c);
}

static bool open(cell *c, pvertices *v, bool plain) {
  pgen *g = &v->g;
  *c = (cell){.v = v, .g = g, .graph = pv_some_graph(v), .plain = plain, .text = ""};
  if (plain)
    while (!c->graph->name && v->n_graphs > 1)
      c->graph = pv_some_graph(v);
  if ((!plain && !c->graph->name) || g->tensors.n > MOST_TENSORS - 10 || g->p->lines.n > 44)
    return false;
  pg_begin(g);
  choose_arguments(c);
  pg_begin(g);
  if (!c->n_rows)
    return false;
  hide(c);
  g->inside = true;
  return true;
}

bool pv_cell(pvertices *v) {
  cell c;
  if (!open(&c, v, false))
    return false;
  pgen *g = c.g;
  c.down = pg_chance(g, 35);
  c.name = pg_name(g, "cell");
  pg_kind(g, c.down ? PAIRS_R_VERTEX_DOWN : PAIRS_R_VERTEX);
  pull_kinds(&c);
  pg_note_rounds(g, c.graph->vertices);
  const char *parameters = signature(&c);
  ptensor count = pg_result(g, NEO_I32_T, NULL, 0);
  count.name = "children";
  count.given = count.exact = true;
  (void)add_local(&c, count);
  gather(&c);
  body(&c);
  scatter(&c);
  push(&c);
  g->inside = false;
  g->reads |= (uint64_t)1 << c.graph->line;
  call(&c, neo_arena_printf(g->arena, "vertex %s(%s) over %s%s", c.name, parameters, c.graph->name,
                            c.down ? " down" : ""));
  return true;
}

/* A function of the rows of one vertex, called for each. */
bool pv_function(pvertices *v) {
  cell c;
  if (!open(&c, v, true))
    return false;
  pgen *g = c.g;
  c.name = pg_name(g, "func");
  const char *parameters = signature(&c), *arguments = "", *left, *indices = "";
  body(&c);
  g->inside = false;
  uint32_t last = c.made[c.n_made - 1];
  ptensor t = g->tensors.at[last], y;
  if (t.rank + 1 > MOST_RANK)
    return show(&c), true;
  c.pushed[c.n_pushed++] = last;
  g->has |= PAIRS_BIT(PAIRS_CALL);
  results_of(&c, &y);
  uint64_t recurs = g->recurs;
  pairs_set has = g->has;
  show(&c);
  uint32_t helper = pg_end(
      g, (pairs_statement){.kind = PAIRS_HELPER,
                           .text = neo_arena_printf(g->arena, "fn %s(%s) -> %s {\n%s}", c.name,
                                                    parameters, t.name, c.text),
                           .name = c.name});
  take_arguments(&c, helper);
  note(&c, recurs, has);
  for (uint32_t k = 0; k < y.rank; k++)
    (void)pg_index(g, y.dim[k], false);
  left = pg_left(g, y.name, y.rank);
  for (uint32_t k = 1; k < y.rank; k++)
    indices = neo_arena_printf(g->arena, "%s%s%s", indices, k > 1 ? ", " : "[", g->index[k].name);
  for (uint32_t k = 0; k < c.n_arguments; k++) {
    const ptensor *x = &c.outer[c.argument[k]];
    const char *row = k >= c.n_rows ? "" : x->rank > 1 ? "[i, ..]" : "[i]";
    arguments = neo_arena_printf(g->arena, "%s%s%s%s", arguments, k ? ", " : "", x->name, row);
  }
  define_results(&c, &y,
                 neo_arena_printf(g->arena, "%s = %s(%s)%s%s", left, c.name, arguments, indices,
                                  *indices ? "]" : ""));
  return true;
}
