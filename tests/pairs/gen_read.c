/* Indices, and reads that are in range by construction. */
#include "tests/pairs/gen.h"
#include <string.h>

const char *pg_index(pgen *g, uint32_t extent, bool reduced) {
  static const char *const outer[] = {"i", "j", "k", "l"}, *const inner[] = {"t", "u", "v", "w"};
  uint32_t n = 0;
  for (uint32_t k = 0; k < g->n_index; k++)
    n += g->index[k].reduced == reduced;
  const char *name = (reduced ? inner : outer)[n % 4];
  g->index[g->n_index++] = (pindex){.name = name, .extent = extent, .reduced = reduced};
  return name;
}

const char *pg_left(pgen *g, const char *name, uint32_t n) {
  const char *s = name;
  for (uint32_t k = 0; k < n; k++)
    s = neo_arena_printf(g->arena, "%s%s%s < %s", s, k ? ", " : "[", g->index[k].name,
                         pg_extent_text(g, g->index[k].extent));
  return n ? neo_arena_printf(g->arena, "%s]", s) : s;
}

const char *pg_left_of(pgen *g, const ptensor *t) {
  return neo_arena_printf(g->arena, "%s : %s", pg_left(g, t->name, t->rank), pg_type_text(t->type));
}

void pg_take(pgen *g, const ptensor *t) {
  g->reads |= (uint64_t)1 << t->line;
  g->from |= t->from;
  g->exact = g->exact && t->exact;
  g->has |= PAIRS_BIT(pg_type_feature(t->type));
}

/* Somewhere beside its range is the extent's. */
static bool is_movable(const pindex *x, uint32_t extent) {
  return x->extent == extent && x->to <= x->from;
}

static const char *moved_index(pgen *g, const pindex *x) {
  int64_t by = x->from || x->to ? (int64_t)pg_below(g, (uint64_t)(x->from - x->to + 1)) - x->from : 0;
  if (!by)
    return x->name;
  return neo_arena_printf(g->arena, by < 0 ? "%s - %d" : "%s + %d", x->name,
                          (int)(by < 0 ? -by : by));
}

const char *pg_at_extent(pgen *g, uint32_t extent) {
  uint32_t at[MOST_INDICES], n = 0;
  for (uint32_t k = 0; k < g->n_index; k++)
    if (is_movable(&g->index[k], extent))
      at[n++] = k;
  return n ? moved_index(g, &g->index[at[pg_below(g, n)]]) : NULL;
}

static bool has_index_of(const pgen *g, uint32_t extent) {
  bool found = false;
  for (uint32_t k = 0; k < g->n_index; k++)
    found = found || is_movable(&g->index[k], extent);
  return found;
}

static bool is_covered(const pgen *g, const ptensor *t) {
  bool covered = true;
  for (uint32_t k = 0; k < t->rank; k++)
    covered = covered && has_index_of(g, t->dim[k]);
  return covered;
}

uint32_t pg_find(pgen *g, pg_wanted *wanted) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++)
    if (wanted(g, &g->tensors.at[k]) && is_covered(g, &g->tensors.at[k]) && pg_below(g, ++n) == 0)
      at = k;
  return at;
}

static void note_read(pgen *g, const ptensor *t) {
  g->reads |= (uint64_t)1 << t->line;
  g->has |= PAIRS_BIT(pg_type_feature(t->type));
  g->has |= g->p->lines.at[t->line].has & PAIRS_BIT(PAIRS_PARAM);
  g->exact = g->exact && t->exact;
  g->from |= t->from;
  if (t->rank && t->rank < g->n_index)
    g->has |= PAIRS_BIT(PAIRS_BROADCAST);
}

const char *pg_read_plain(pgen *g, uint32_t tensor) {
  ptensor t = g->tensors.at[tensor];
  const char *s = t.name;
  note_read(g, &t);
  for (uint32_t k = 0; k < t.rank; k++)
    s = neo_arena_printf(g->arena, "%s%s%s", s, k ? ", " : "[", pg_at_extent(g, t.dim[k]));
  return t.rank ? neo_arena_printf(g->arena, "%s]", s) : s;
}

/* ---- subscripts */

static uint32_t wanted_bound(pgen *g, uint32_t extent) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (t->bound == extent && !t->up_to && is_covered(g, t) && pg_below(g, ++n) == 0)
      at = k;
  }
  return at;
}

/* An element of an integer tensor that is bounded by the extent. */
static const char *lookup(pgen *g, uint32_t extent) {
  uint32_t at = wanted_bound(g, extent);
  if (at == UINT32_MAX || g->read_depth > 1)
    return NULL;
  bool found = g->tensors.at[at].found, exact = g->exact;
  uint64_t from = g->from;
  g->read_depth++;
  const char *s = pg_read_plain(g, at);
  g->read_depth--;
  g->exact = exact;
  g->from = from;
  g->has |= PAIRS_BIT(found ? PAIRS_LOOKUP_ARG : PAIRS_LOOKUP);
  return s;
}

static const char *moved(pgen *g, const char *index, bool *guarded) {
  static const char *const by[] = {" - 1", " + 1", " + 2", " - 3"};
  *guarded = true;
  return neo_arena_printf(g->arena, "%s%s", index, PG_PICK(g, by));
}

static const char *reversed(pgen *g, uint32_t extent, const char *index) {
  g->has |= PAIRS_BIT(PAIRS_REVERSE);
  return neo_arena_printf(g->arena, strchr(index, ' ') ? "%s - 1 - (%s)" : "%s - 1 - %s",
                          pg_extent_text(g, extent), index);
}

static const char *own_subscript(pgen *g, uint32_t extent, const char *index, bool *guarded) {
  uint64_t roll = pg_below(g, 100);
  const char *s = roll < 5 ? lookup(g, extent) : NULL;
  if (s)
    return s;
  if (roll >= 5 && roll < 8)
    return reversed(g, extent, index);
  if (roll >= 8 && roll < 12 && !*guarded)
    return moved(g, index, guarded);
  return index;
}

static const char *foreign_subscript(pgen *g, uint32_t extent, bool *guarded) {
  const pextent *e = &g->extents.at[extent];
  const char *s = pg_chance(g, 50) ? lookup(g, extent) : NULL;
  if (s)
    return s;
  const char *index = g->n_index ? g->index[pg_below(g, g->n_index)].name : NULL;
  if (index && !e->runtime && pg_chance(g, 40)) {
    g->has |= PAIRS_BIT(PAIRS_MODULO);
    return neo_arena_printf(g->arena, "%s %% %s", index, pg_extent_text(g, extent));
  }
  if (index && !*guarded && pg_chance(g, 50)) {
    *guarded = true;
    return index;
  }
  *guarded = *guarded || !e->least;
  return e->least > 1 && pg_chance(g, 40) ? "1" : "0";
}

static const char *else_value(neo_type t) {
  return t == NEO_BOOL_T ? "false" : neo_type_is_float(t) ? "0.25" : "1";
}

/* In a select of its own condition, in parentheses with an else, or neither. */
static const char *kept_inside(pgen *g, const ptensor *t, const char *read, const char *condition,
                               bool guarded) {
  if (!guarded)
    return read;
  const char *other = else_value(t->type);
  if (pg_chance(g, 20) && g->read_depth < 2) {
    g->read_depth++;
    other = pg_value(g, t->type, 0);
    g->read_depth--;
  }
  if (condition && pg_chance(g, 40)) {
    g->has |= PAIRS_BIT(PAIRS_SELECT);
    return neo_arena_printf(g->arena, "select(%s, %s, %s)", condition, read, other);
  }
  g->has |= PAIRS_BIT(PAIRS_ELSE);
  return neo_arena_printf(g->arena, "(%s else %s)", read, other);
}

/* Any subscripts. A condition is there where all of those that may be outside are sums of indices. */
static const char *wide_read(pgen *g, const ptensor *t) {
  const char *s = t->name, *condition = NULL;
  bool guarded = false, affine = true;
  for (uint32_t k = 0; k < t->rank; k++) {
    const char *sub = pg_chance(g, 55) ? pg_at_extent(g, t->dim[k]) : NULL;
    bool out = false, sums = true;
    if (!sub)
      sub = pg_wide_subscript(g, t->dim[k], &out, &sums);
    if (out) {
      const char *one = neo_arena_printf(g->arena, "%s >= 0 and %s < %s", sub, sub,
                                         pg_extent_text(g, t->dim[k]));
      condition = condition ? neo_arena_printf(g->arena, "%s and %s", condition, one) : one;
    }
    guarded = guarded || out;
    affine = affine && (!out || sums);
    s = neo_arena_printf(g->arena, "%s%s%s", s, k ? ", " : "[", sub);
  }
  s = neo_arena_printf(g->arena, "%s]", s);
  return kept_inside(g, t, s, affine ? condition : NULL, guarded);
}

const char *pg_read(pgen *g, uint32_t tensor) {
  ptensor t = g->tensors.at[tensor];
  if (g->wide && t.rank && pg_chance(g, 40)) {
    note_read(g, &t);
    return wide_read(g, &t);
  }
  const char *s = t.name, *last = "";
  bool guarded = false;
  note_read(g, &t);
  for (uint32_t k = 0; k < t.rank; k++) {
    const char *index = pg_at_extent(g, t.dim[k]);
    const char *sub = index ? own_subscript(g, t.dim[k], index, &guarded)
                            : foreign_subscript(g, t.dim[k], &guarded);
    if (*sub < *last)
      g->has |= PAIRS_BIT(PAIRS_TRANSPOSE);
    last = sub;
    s = neo_arena_printf(g->arena, "%s%s%s", s, k ? ", " : "[", sub);
  }
  if (!t.rank)
    return s;
  if (guarded)
    g->has |= PAIRS_BIT(PAIRS_ELSE);
  return guarded ? neo_arena_printf(g->arena, "(%s] else %s)", s, else_value(t.type))
                 : neo_arena_printf(g->arena, "%s]", s);
}

/* ---- of a type */

/* Is `to` the type in which a sum of `from` is made? */
static bool is_wider(neo_type to, neo_type from) {
  return to == NEO_F32_T ? from == NEO_F16_T || from == NEO_BF16_T
                         : to == NEO_I32_T && (from == NEO_I8_T || from == NEO_U8_T);
}

const char *pg_convert(pgen *g, neo_type to, neo_type from, const char *e) {
  if (to == from)
    return e;
  if (to == NEO_BOOL_T)
    return neo_arena_printf(g->arena, "%s > %s", e, neo_type_is_float(from) ? "0.25" : "1");
  if (is_wider(to, from) && strlen(e) % 2) /* nothing is drawn for it: a seed's programs stay as they are */
    return neo_arena_printf(g->arena, "wide(%s)", e);
  return neo_arena_printf(g->arena, "%s(%s)", pg_type_text(to), e);
}

/* New ones rather than old ones, so that definitions come in chains. */
static uint32_t some_tensor(pgen *g) {
  uint64_t n = g->tensors.n;
  return (uint32_t)(n > 3 && pg_chance(g, 60) ? n - 1 - pg_below(g, 3) : pg_below(g, n));
}

const char *pg_read_any(pgen *g, neo_type t) {
  for (int attempt = 0; attempt < 8; attempt++) {
    uint32_t k = some_tensor(g);
    const ptensor *x = &g->tensors.at[k];
    bool same = x->type == t, jumps = neo_type_is_float(x->type) && !neo_type_is_float(t);
    if ((!same && attempt < 5 && !pg_chance(g, 20)) || (jumps && !x->exact))
      continue;
    if (!is_covered(g, x) && attempt < 4)
      continue;
    neo_type from = x->type;
    return pg_convert(g, t, from, pg_read(g, k));
  }
  return NULL;
}
