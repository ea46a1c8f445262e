/* A definition is needed where one of its readers is needed and the conditions at the read hold.
 * This is the least solution, also for definitions that depend on each other: needs start empty and
 * grow until all readers are satisfied. (G. Kildall, "A unified approach to global program
 * optimization".) */
#include "ir/needed.h"
#include "base/vec.h"
#include "ir/component.h"
#include "ir/guarded_read.h"
#include "ir/limits.h"
#include "ir/loop_axes.h"
#include "ir/need.h"
#include "ir/trip_count.h"
#include <stdlib.h>

typedef struct { /* a read by one definition */
  neo_tensor t;
  neo_expr read; /* 0: the dependence is not an expression */
  bool steers;
  bool never;     /* the conditions never hold together */
  neo_term under; /* conditions at the read */
} read_under;
typedef NEO_VEC(read_under) reads_under;

typedef struct {
  neo_module *m;
  const neo_needed_input *in;
  neo_arena *a;
  neo_need_world world;
  const uint32_t *together;
  neo_need *of, *of_class; /* by definition; by number of the definitions that run together */
  bool *dirty;             /* by definition: its need has grown since its reads were visited */
  uint32_t *place;         /* by definition: its position, from 1 on; 0: not asked about */
  reads_under *reads;      /* by position */
  const uint64_t *loops;   /* with `points`: neo_loop_axes */
} search;

/* ---- reads */

static bool is_integer(const neo_module *m, uint32_t t) {
  neo_type type = neo_tensor_type(m, (neo_tensor){t});
  return type == NEO_BOOL_T || neo_type_is_int(type);
}

/* Whether t is a table of rows. It gives the number of iterations to loops that stand under no
 * condition, so it is always needed. */
static bool is_table(const neo_tensor_rec *r) {
  return r->terms || r->partial || r->moves || r->rows.i;
}

static bool is_condition(const search *s, neo_expr e) {
  return s->in->points ? neo_is_point_condition(s->m, e) : neo_is_condition(s->m, e);
}

/* The axes of t's definition that are loops wherever t is computed; 0 if they do not correspond to
 * its dimensions one to one. */
static uint64_t loops_of(const search *s, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(s->m, t);
  neo_def d = {r->pieces.n == 1 ? neo_list_at(s->m, r->pieces, 0) : 0};
  bool has = d.i && !neo_def_at(s->m, d)->out_map.n && neo_def_at(s->m, d)->n_out == r->extent.n;
  return has && s->loops ? s->loops[d.i] : 0;
}

/* Rewrites the condition at a read's point as one at the position that is read: an index of the
 * read becomes the axis of the position. 0: it cannot be expressed there. */
static neo_expr at_position(const search *s, neo_expr condition, neo_expr read) {
  enum { POSITION = 40 }; /* axes from POSITION on are those of the element */
  neo_module *m = s->m;
  neo_tensor t = {neo_expr_node(m, read)->attr};
  neo_expr by[NEO_DEF_AXES] = {{0}};
  if (!neo_expr_axes(m, condition))
    return condition;
  if (!loops_of(s, t) || neo_expr_axes(m, condition) >> POSITION)
    return (neo_expr){0};
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    neo_expr at = neo_expr_arg(m, read, k), to = neo_axis_ref(m, POSITION + k);
    by[POSITION + k] = neo_axis_ref(m, k);
    if (neo_expr_axes(m, at))
      condition = neo_expr_replace(m, condition, at, to);
  }
  if (neo_expr_axes(m, condition) & ~(loops_of(s, t) << POSITION))
    return (neo_expr){0};
  return neo_condition_of(m, neo_expr_subst_axes(m, condition, by, NEO_DEF_AXES));
}

/* Adds the part of the condition that can be expressed at the position read. False: the conjunction
 * never holds. */
static bool add_at(const search *s, neo_term *x, neo_expr condition, neo_expr read) {
  neo_expr there = at_position(s, condition, read);
  return !there.i || neo_term_add(s->m, x, there);
}

/* Terms of a sum that ends with a loop are those of iterations that ran. */
static void add_trips(search *s, neo_def d, const neo_guarded_read *r, read_under *x) {
  neo_def_rec rec = *neo_def_at(s->m, d);
  for (uint32_t k = rec.n_out; s->in->points && k < r->n_axes && !x->steers; k++) {
    neo_expr alive = neo_trip_condition(s->m, &rec, k);
    if (alive.i)
      x->never = !add_at(s, &x->under, alive, r->read) || x->never;
  }
}

static read_under read_of(search *s, neo_def d, const neo_guarded_read *r, const bool *steers) {
  read_under x = {.t = {neo_expr_node(s->m, r->read)->attr}, .read = r->read};
  x.steers = steers[x.t.i];
  for (uint32_t k = 0; k < r->n_around && !x.steers; k++) {
    neo_expr part[NEO_MOST_CONDITIONS];
    uint32_t n = 0;
    if (!neo_condition_parts(s->m, r->assume[k], part, &n, NEO_MOST_CONDITIONS))
      continue;
    for (uint32_t i = 0; i < n; i++)
      if (is_condition(s, part[i]))
        x.never = !add_at(s, &x.under, part[i], r->read) || x.never;
  }
  add_trips(s, d, r, &x);
  return x;
}

static void find_reads(search *s, size_t place, const bool *steers, const bool *all) {
  neo_def d = s->in->defs[place];
  neo_guarded_reads reads = {0};
  neo_tensor *in;
  neo_guarded_reads_of(s->m, d, all, s->a, &reads);
  for (size_t k = 0; k < reads.n; k++)
    NEO_PUSH(s->a, &s->reads[place], read_of(s, d, &reads.at[k], steers));
  for (size_t i = neo_def_reads(s->m, d, s->a, &in), k = 0; k < i; k++) {
    neo_tensor blocks = neo_tensor_blocks(s->m, in[k]);
    if (blocks.i)
      NEO_PUSH(s->a, &s->reads[place], ((read_under){.t = blocks, .steers = true}));
  }
}

/* ---- the fixed point */

static uint32_t class_of(const search *s, uint32_t d) {
  return s->together[d];
}

/* The term without its conditions over axes: the remaining conditions hold at every point or at
 * none. */
static neo_term of_any_point(const search *s, const neo_term *x) {
  neo_term y = *x;
  for (uint32_t k = y.n; k-- > 0;)
    if (neo_expr_axes(s->m, y.at[k]))
      neo_term_drop(&y, k);
  return y;
}

static void need_def(search *s, uint32_t d, const neo_term *x) {
  uint32_t c = class_of(s, d);
  bool more = neo_need_add(&s->world, &s->of[d], x, s->place[d]);
  s->dirty[d] = s->dirty[d] || more;
  if (!c || !more)
    return;
  uint32_t first = UINT32_MAX;
  for (size_t k = 0; k < s->in->n; k++)
    if (class_of(s, s->in->defs[k].i) == c && s->place[s->in->defs[k].i] < first)
      first = s->place[s->in->defs[k].i];
  neo_term all = of_any_point(s, x);
  if (!neo_need_add(&s->world, &s->of_class[c], &all, first))
    return;
  for (size_t k = 0; k < s->in->n; k++) /* definitions that steer it are needed where any part of it
                                           is */
    if (class_of(s, s->in->defs[k].i) == c && s->of[s->in->defs[k].i].n)
      s->dirty[s->in->defs[k].i] = true;
}

static bool add_from(const search *s, neo_term *x, neo_expr condition, const read_under *r) {
  if (!r->read.i)
    return neo_expr_axes(s->m, condition) || neo_term_add(s->m, x, condition);
  return add_at(s, x, condition, r->read);
}

static void need_read(search *s, uint32_t d, const read_under *r) {
  const neo_need from = r->steers && class_of(s, d) ? s->of_class[class_of(s, d)] : s->of[d];
  neo_list pieces = neo_tensor_at(s->m, r->t)->pieces;
  for (uint32_t i = 0; i < from.n; i++) {
    neo_term x = {0};
    bool can = !r->never;
    for (uint32_t k = 0; k < from.at[i]->n && can; k++)
      can = add_from(s, &x, from.at[i]->at[k], r);
    for (uint32_t k = 0; k < r->under.n && can; k++)
      can = neo_term_add(s->m, &x, r->under.at[k]);
    neo_term_reduce(s->m, &x);
    for (uint32_t k = 0; k < pieces.n && can; k++)
      if (s->place[neo_list_at(s->m, pieces, k)])
        need_def(s, neo_list_at(s->m, pieces, k), &x);
  }
}

static void solve(search *s) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t k = s->in->n; k-- > 0;) {
      uint32_t d = s->in->defs[k].i;
      if (!s->dirty[d])
        continue;
      s->dirty[d] = false;
      changed = true;
      for (size_t i = 0; i < s->reads[k].n; i++)
        need_read(s, d, &s->reads[k].at[i]);
    }
  }
}

static bool is_always(const search *s, uint32_t d) {
  neo_list out = neo_def_at(s->m, (neo_def){d})->out;
  for (uint32_t k = 0; k < out.n; k++) {
    uint32_t t = neo_list_at(s->m, out, k);
    const neo_tensor_rec *r = neo_tensor_at(s->m, (neo_tensor){t});
    if (s->in->always[t] || (is_integer(s->m, t) && is_table(r)))
      return true;
  }
  return false;
}

/* ---- the answer */

static int by_number(const void *a, const void *b) {
  uint32_t x = ((const neo_expr *)a)->i, y = ((const neo_expr *)b)->i;
  return (x > y) - (x < y);
}

/* The disjunction of the terms without their common conditions; 0: one of the terms has no
 * others. */
static neo_expr rest_of(search *s, const neo_need *x, const neo_term *all) {
  neo_expr any = {0};
  for (uint32_t i = 0; i < x->n; i++) {
    neo_expr one = {0};
    for (uint32_t k = 0; k < x->at[i]->n; k++) {
      neo_expr e = x->at[i]->at[k];
      if (neo_condition_where(s->m, all->at, all->n, e) != NEO_CONDITION_HOLDS)
        one = one.i ? neo_op2(s->m, NEO_OP_AND, one, e) : e;
    }
    if (!one.i)
      return one;
    any = any.i ? neo_op2(s->m, NEO_OP_OR, any, one) : one;
  }
  return any;
}

/* The conditions of a need, allocated in arena a. */
static neo_conditions answer(search *s, const neo_need *x, neo_arena *a) {
  if (!x->n) { /* the conditions on the paths to all readers contradict each other */
    neo_expr never = neo_const_bool(s->m, false);
    return (neo_conditions){1, neo_arena_copy(a, &never, sizeof never)};
  }
  neo_term all = neo_need_common(s->m, x);
  neo_expr rest = x->n > 1 ? rest_of(s, x, &all) : (neo_expr){0};
  neo_expr *at = NEO_NEW_ARRAY(a, neo_expr, all.n + 1);
  uint32_t n = 0;
  for (uint32_t k = 0; k < all.n; k++)
    at[n++] = all.at[k];
  if (rest.i)
    at[n++] = rest;
  qsort(at, n, sizeof *at, by_number);
  return (neo_conditions){n, at};
}

static bool has_condition(const search *s, neo_expr e) {
  const neo_node *n = e.i ? neo_expr_node(s->m, e) : NULL;
  if (n && (n->op == NEO_OP_AND || n->op == NEO_OP_OR || n->op == NEO_OP_NOT))
    for (uint32_t k = 0; k < n->arg.n; k++)
      if (has_condition(s, neo_list_expr(s->m, n->arg, k)))
        return true;
  return n && is_condition(s, e);
}

static bool any_condition(const search *s) {
  for (uint32_t k = 1; k < s->m->nodes.n; k++) {
    const neo_node *n = neo_expr_node(s->m, (neo_expr){k});
    if (n->op == NEO_OP_SELECT && has_condition(s, neo_list_expr(s->m, n->arg, 0)))
      return true;
  }
  for (size_t k = 0; k < s->in->n; k++)
    if (has_condition(s, neo_def_at(s->m, s->in->defs[k])->where))
      return true;
  return false;
}

static const uint32_t *recurrences(search *s) {
  uint32_t *number = NEO_NEW_ARRAY(s->a, uint32_t, s->m->defs.n);
  (void)neo_recurrences(s->m, s->in->defs, s->in->n, s->a, number);
  return number;
}

static void begin(search *s) {
  const neo_needed_input *in = s->in;
  neo_module *m = s->m;
  s->together = in->together ? in->together : recurrences(s);
  s->of = NEO_NEW_ARRAY(s->a, neo_need, m->defs.n);
  s->of_class = NEO_NEW_ARRAY(s->a, neo_need, m->defs.n + 1);
  s->dirty = NEO_NEW_ARRAY(s->a, bool, m->defs.n);
  s->place = NEO_NEW_ARRAY(s->a, uint32_t, m->defs.n);
  s->reads = NEO_NEW_ARRAY(s->a, reads_under, in->n + 1);
  bool *all = NEO_NEW_ARRAY(s->a, bool, m->tensors.n);
  const bool *steers = neo_steering_tensors(m, in->defs, in->n, s->a);
  for (uint32_t t = 0; t < m->tensors.n; t++)
    all[t] = true;
  for (size_t k = 0; k < in->n; k++)
    s->place[in->defs[k].i] = (uint32_t)k + 1;
  s->world = (neo_need_world){m, s->a, s->place};
  if (in->points)
    s->loops = neo_loop_axes(in->points, in->defs, in->n, s->a);
  for (size_t k = 0; k < in->n; k++)
    find_reads(s, k, steers, all);
}

static void solve_from(search *s) {
  const neo_term whatever = {0};
  begin(s);
  for (size_t k = 0; k < s->in->n; k++)
    if (is_always(s, s->in->defs[k].i))
      need_def(s, s->in->defs[k].i, &whatever);
  solve(s);
}

const neo_conditions *neo_needed_where(neo_module *m, const neo_needed_input *in, neo_arena *a) {
  neo_arena scratch = neo_arena_scratch(a);
  search s = {.m = m, .in = in, .a = &scratch};
  if (!any_condition(&s))
    return NULL;
  solve_from(&s);
  neo_conditions *of = NEO_NEW_ARRAY(a, neo_conditions, m->defs.n);
  for (size_t k = 0; k < in->n; k++) {
    uint32_t d = in->defs[k].i, c = in->together && !in->points ? in->together[d] : 0;
    of[d] = answer(&s, c ? &s.of_class[c] : &s.of[d], a);
  }
  neo_arena_free(&scratch);
  return of;
}
