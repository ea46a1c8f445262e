/* Vertex functions. While a block is written, what has no place in it (tensors with rows, and what depends on the
 * batch) is hidden behind a tensor that does; what the block defines is a tensor until it ends. */
#include "tests/pairs/gen_cell.h"
#include <string.h>

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
    c->local[k] = pc_add_local(c, p);
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
    input =
        neo_arena_printf(g->arena, "%s%s%s", input, k ? "\n" : "", pg_input_text(g, &result[k]));
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
    y.from = moved(c, pc_resolved(c, t.from));
    y.smooth = neo_type_is_float(y.type) && y.from;
    y.given = false;
    y.exact = !neo_type_is_float(y.type);
    out[k] = y;
  }
}

/* Another input with rows like those of the first argument; UINT32_MAX: none. */
static uint32_t like_first(cell *c) {
  pgen *g = c->g;
  const ptensor *x = &c->outer[c->argument[0]];
  for (uint32_t k = 0; x->given && k < g->tensors.n && k < PARAMETER; k++) {
    const ptensor *t = &g->tensors.at[k];
    bool like = t->rows == x->rows && t->given && t->type == x->type && t->rank == x->rank &&
                t->bound == x->bound && t->name != x->name;
    for (uint32_t d = 0; like && d < x->rank; d++)
      like = t->dim[d] == x->dim[d];
    if (like)
      return k;
  }
  return UINT32_MAX;
}

/* The same function of other rows, whose parameters are its own. */
static void call_again(cell *c, ptensor *result, uint32_t helper, uint64_t recurs, pairs_set has) {
  pgen *g = c->g;
  uint32_t k = like_first(c);
  if (k == UINT32_MAX || g->tensors.n > MOST_TENSORS)
    return;
  const ptensor t = g->tensors.at[k];
  uint64_t before = (uint64_t)1 << c->argument[0];
  take_arguments(c, helper);
  g->reads |= (uint64_t)1 << t.line;
  note(c, recurs, has);
  for (uint32_t i = 0; i < c->n_pushed; i++) {
    result[i].name = pg_name(g, "y");
    if (result[i].from & before)
      result[i].from = (result[i].from & ~before) | t.from;
  }
  define_results(c, result,
                 neo_arena_printf(g->arena, "%%s = %s(%s)", c->name, actuals(c, t.name)));
}

/* Its first result is its first argument again: rounds of it. */
static void repeat(cell *c, const ptensor *result, uint32_t helper, uint64_t recurs,
                   pairs_set has) {
  pgen *g = c->g;
  const ptensor *x = &c->outer[c->argument[0]];
  bool like = x->type == result[0].type && x->rank == result[0].rank &&
              !(recurs & PAIRS_RECURS(PAIRS_R_INNER_GRAD));
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
  define_results(
      c, &y,
      neo_arena_printf(
          g->arena, "%%s = repeat r < %d from %s = %s {\n  %s%s = %s(%s)\n  next %s = %s\n}",
          2 + (int)pg_below(g, 2), z, x->name, first, more, c->name, actuals(c, z), z, first));
  c->n_pushed = n;
}

static void call(cell *c, const char *head) {
  pgen *g = c->g;
  ptensor result[MOST_PUSHED];
  uint64_t recurs = g->recurs;
  pairs_set has = g->has;
  results_of(c, result);
  show(c);
  uint32_t helper =
      pg_end(g, (pairs_statement){.kind = PAIRS_HELPER,
                                  .text = neo_arena_printf(g->arena, "%s {\n%s}", head, c->text),
                                  .name = c->name});
  take_arguments(c, helper);
  note(c, recurs, has);
  define_results(c, result, neo_arena_printf(g->arena, "%%s = %s(%s)", c->name, actuals(c, NULL)));
  if (pg_chance(g, 30))
    repeat(c, result, helper, recurs, has);
  else if (pg_chance(g, 25))
    call_again(c, result, helper, recurs, has);
}

static void pull_kinds(cell *c) {
  for (uint32_t k = 0; k < c->n_rows; k++)
    if (!c->outer[c->argument[k]].given)
      pg_kind(c->g, PAIRS_R_PULL);
}

static bool open(cell *c, pvertices *v, bool plain) {
  pgen *g = &v->g;
  *c = (cell){.v = v, .g = g, .graph = pv_some_graph(v), .plain = plain, .text = ""};
  /* A graph with a name, if there is one. */
  for (int tries = 0; plain && !c->graph->name && v->n_graphs > 1 && tries < 20; tries++)
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
  (void)pc_add_local(&c, count);
  pc_gather(&c);
  pc_gather_list(&c);
  pc_reduce_list(&c);
  pc_block(&c);
  pc_scatter(&c);
  pc_scatter_list(&c);
  pc_push(&c);
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
  pc_block(&c);
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
  uint32_t helper =
      pg_end(g, (pairs_statement){.kind = PAIRS_HELPER,
                                  .text = neo_arena_printf(g->arena, "fn %s(%s) -> %s {\n%s}",
                                                           c.name, parameters, t.name, c.text),
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
