/* Draws gathers, scatters and pushes of vertices. */
#include "tests/pairs/gen_cell.h"

/* ---- gathers */

static const char *none_text(pgen *g, neo_type t) {
  static const char *const floats[] = {"0", "0", "0.5", "-0.25", "1"}, *const ints[] = {"0", "1",
                                                                                        "-1", "3"};
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

void pc_gather(cell *c) {
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
      pc_begin(c, t);
      const char *left = pg_left_of(g, t);
      one = neo_arena_printf(g->arena, "%s = %s", left, pg_value(g, t->type, 1));
      t->from |= t->smooth ? g->from : 0;
      pg_kind(g, PAIRS_R_NONE);
    }
    text = neo_arena_printf(g->arena, "%s%s%s", text, k ? ", " : "", one);
  }
  for (uint32_t k = 0; k < n; k++)
    c->gathered[c->n_gathered++] = pc_add_local(c, made[k]);
  if (n > 1)
    pg_kind(g, PAIRS_R_GATHERS);
  pc_add_line(c, neo_arena_printf(g->arena, "gather %s", text));
}

/* ---- scatter and push */

uint32_t pc_alike(cell *c, const ptensor *h) {
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

void pc_scatter(cell *c) {
  pgen *g = c->g;
  bool together = pg_chance(g, 60);
  const char *text = "";
  for (uint32_t k = 0; k < c->n_gathered; k++) {
    ptensor h = g->tensors.at[c->gathered[k]], t = h;
    uint32_t like = pg_chance(g, 60) ? pc_alike(c, &h) : UINT32_MAX;
    const char *one;
    if (like != UINT32_MAX) {
      one = neo_arena_printf(g->arena, "%s = %s", h.name, g->tensors.at[like].name);
      c->scattered[k] = g->tensors.at[like].from;
    } else {
      t.rank--;
      for (uint32_t d = 0; d < t.rank; d++)
        t.dim[d] = h.dim[d + 1];
      pc_begin(c, &t);
      const char *left = pg_left(g, h.name, t.rank);
      one = neo_arena_printf(g->arena, "%s = %s", left, pc_value(c, &t, c->gathered[k], 1));
      c->scattered[k] = g->from;
    }
    c->scattered[k] |= h.from; /* where there is no child */
    text = neo_arena_printf(g->arena, "%s%s%s", text, *text ? ", " : "", one);
    if (together && k + 1 < c->n_gathered)
      continue;
    pc_add_line(c, neo_arena_printf(g->arena, "scatter %s", text));
    text = "";
  }
}

void pc_push(cell *c) {
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
    pc_add_line(c, neo_arena_printf(g->arena, "push %s", g->tensors.at[at].name));
  }
}

/* The gathered value is a function of the scattered one. */
uint64_t pc_resolved(const cell *c, uint64_t from) {
  for (uint32_t round = 0; round < MOST_GATHERS; round++)
    for (uint32_t k = 0; k < c->n_gathered; k++)
      if (from >> (GATHERED + k) & 1)
        from |= c->scattered[k];
  return from & (((uint64_t)1 << GATHERED) - 1);
}
