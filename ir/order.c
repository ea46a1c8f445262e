/* The search for an order. At each level the first definition's axes are tried, in both directions;
 * the other definitions get their axes along the reads between them. Axes that fit all reads may
 * still lead nowhere: no read is of an earlier iteration (a bound and a condition leave one point
 * of two iterations), or the remaining reads have no order inside of the loop. If no order is
 * found, the search is repeated with alternative axes for the other definitions, too: their
 * distances are rarely constant, and each takes a proof. */
#include "ir/order.h"
#include "ir/component.h"
#include "ir/guarded_read.h"
#include "ir/lists.h"
#include "ir/out_map.h"
#include "ir/verify/verify.h"
#include <string.h>

enum { NONE = UINT32_MAX, MOST_DELAY = 1 << 20, MOST_TRIES = 1000, MOST_RETRIES = 64 };
enum { MOST_DIMS = 16 };
enum { TRIES_EACH = 16 }; /* additional tries for each definition */

typedef struct { /* a read; definitions by their number in the component */
  uint32_t producer, reader;
  neo_guarded_read read;
  bool carried; /* by an outer loop */
  /* At this level: the largest value of the producer's coordinate minus the reader's. */
  int64_t distance;
} edge;

typedef struct {
  neo_prover *p;
  neo_module *m;
  neo_arena *arena;
  const neo_def *def;
  uint32_t n;
  uint64_t *used;   /* by definition: set of axes used by outer loops */
  uint32_t retries; /* remaining retries of a level with axes other than the first that fit */
  NEO_VEC(edge) edges;
  uint32_t *first, *incident; /* edges of definition d: incident[first[d]] to before first[d + 1] */
  neo_order_failure *why;
  bool tells; /* the caller asks for the reason of a failure, which takes a few more proofs */
  bool lists; /* definitions of positions of lists run by owner */
} search;

typedef struct { /* a level under trial; arrays are by definition */
  bool down;
  uint32_t *axis; /* NONE: not known */
  int64_t *delay;
  bool *inexact;  /* by edge: no axis of its other end is at a constant distance */
  uint32_t tries; /* remaining attempts: one for each axis of a definition that is tried */
} level;

/* ---- reads */

static void add_edges(search *s, uint32_t reader, const neo_guarded_read *r,
                      const uint32_t *number) {
  neo_list pieces = neo_tensor_at(s->m, (neo_tensor){neo_expr_node(s->m, r->read)->attr})->pieces;
  for (uint32_t k = 0; k < pieces.n; k++) {
    uint32_t producer = number[neo_list_at(s->m, pieces, k)];
    if (producer != NONE)
      NEO_PUSH(s->arena, &s->edges, (edge){.producer = producer, .reader = reader, .read = *r});
  }
}

static void find_edges(search *s) {
  bool *wanted = NEO_NEW_ARRAY(s->arena, bool, s->m->tensors.n);
  uint32_t *number = NEO_NEW_ARRAY(s->arena, uint32_t, s->m->defs.n);
  for (size_t k = 0; k < s->m->defs.n; k++)
    number[k] = NONE;
  for (uint32_t k = 0; k < s->n; k++) {
    neo_list out = neo_def_at(s->m, s->def[k])->out;
    number[s->def[k].i] = k;
    for (uint32_t j = 0; j < out.n; j++)
      wanted[neo_list_at(s->m, out, j)] = true;
  }
  for (uint32_t k = 0; k < s->n; k++) {
    neo_guarded_reads reads = {0};
    neo_guarded_reads_of(s->m, s->def[k], wanted, s->arena, &reads);
    for (size_t j = 0; j < reads.n; j++)
      add_edges(s, k, &reads.at[j], number);
  }
}

static void count_incident(search *s, uint32_t d) {
  s->first[d + 1]++;
}

static void put_incident(search *s, uint32_t *end, uint32_t d, size_t e) {
  s->incident[end[d]++] = (uint32_t)e;
}

/* Lists the edges of each definition, in their order; an edge from a definition to itself once. */
static void index_edges(search *s) {
  uint32_t *end = NEO_NEW_ARRAY(s->arena, uint32_t, s->n);
  s->first = NEO_NEW_ARRAY(s->arena, uint32_t, s->n + 1);
  s->incident = NEO_NEW_ARRAY(s->arena, uint32_t, 2 * s->edges.n + 1);
  for (size_t k = 0; k < s->edges.n; k++) {
    const edge *e = &s->edges.at[k];
    count_incident(s, e->producer);
    if (e->reader != e->producer)
      count_incident(s, e->reader);
  }
  for (uint32_t d = 0; d < s->n; d++) {
    s->first[d + 1] += s->first[d];
    end[d] = s->first[d];
  }
  for (size_t k = 0; k < s->edges.n; k++) {
    const edge *e = &s->edges.at[k];
    put_incident(s, end, e->producer, k);
    if (e->reader != e->producer)
      put_incident(s, end, e->reader, k);
  }
}

/* ---- one read at a level */

static neo_def_rec def_of(const search *s, uint32_t k) {
  return *neo_def_at(s->m, s->def[k]);
}

/* The owners of the axis' positions, if the definition runs by owner along it; 0: it does not. */
static neo_tensor owner_of(const search *s, uint32_t d, uint32_t axis) {
  neo_def_rec r = def_of(s, d);
  return s->lists && !r.out_map.n ? neo_owner_of(s->m, neo_def_axis(s->m, &r, axis)->hi)
                                  : (neo_tensor){0};
}

/* The coordinate of definition d where its axis is at `at`. */
static neo_expr coordinate(const search *s, uint32_t d, uint32_t axis, neo_expr at) {
  neo_tensor owner = owner_of(s, d, axis);
  return owner.i ? neo_list_element(s->m, owner, at) : at;
}

/* The coordinate along the producer's axis `axis` that computes the element read; 0: its out map
 * has a stride. */
static neo_expr position(const search *s, const edge *e, uint32_t axis) {
  neo_def_rec p = def_of(s, e->producer);
  neo_out_dim map = neo_out_map_at(s->m, p.out_map, axis);
  neo_expr index = neo_expr_arg(s->m, e->read.read, axis);
  if (map.stride != 1)
    return (neo_expr){0};
  neo_expr at = neo_op2(s->m, NEO_OP_SUB, index, neo_const_i64(s->m, map.offset));
  return coordinate(s, e->producer, axis, at);
}

/* The producer's coordinate minus the reader's, in the direction of the loop. It has to be
 * small. */
static neo_expr distance(const search *s, const edge *e, uint32_t from, uint32_t to, bool down) {
  neo_expr at = position(s, e, from);
  neo_expr here = coordinate(s, e->reader, to, neo_axis_ref(s->m, to));
  if (!at.i)
    return at;
  return down ? neo_op2(s->m, NEO_OP_SUB, here, at) : neo_op2(s->m, NEO_OP_SUB, at, here);
}

static bool is_constant(const search *s, neo_expr e, int64_t *x) {
  neo_linear l;
  if (!neo_linear_of(s->m, e, &l) || l.n)
    return false;
  *x = l.constant;
  return true;
}

/* Notes the first read that does not fit, for the report. */
static void fail(const search *s, const edge *e, uint32_t axis, bool down, const neo_witness *at) {
  if (s->why && !s->why->reader.i)
    *s->why = (neo_order_failure){.reader = s->def[e->reader],
                                  .producer = s->def[e->producer],
                                  .read = e->read.read,
                                  .refuted = at != NULL,
                                  .down = down,
                                  .axis = axis,
                                  .at = at ? *at : (neo_witness){0}};
}

/* Adds what the reader's axes, and the read, say of lists. */
static neo_facts with_lists(const search *s, const edge *e, neo_facts f) {
  neo_expr *all = NEO_NEW_ARRAY(s->arena, neo_expr, f.n_assume + 2 * f.n_axes + MOST_DIMS);
  uint32_t rank = neo_tensor_rank(s->m, (neo_tensor){neo_expr_node(s->m, e->read.read)->attr});
  for (uint32_t k = 0; k < f.n_assume; k++)
    all[k] = f.assume[k];
  for (uint32_t k = 0; k < f.n_axes; k++)
    neo_list_facts(s->m, &f.axes[k], neo_axis_ref(s->m, k), all, &f.n_assume);
  for (uint32_t k = 0; k < rank && k < MOST_DIMS; k++) {
    neo_expr fact = neo_listed_fact(s->m, neo_expr_arg(s->m, e->read.read, k));
    if (fact.i)
      all[f.n_assume++] = fact;
  }
  f.assume = all;
  return f;
}

static neo_proof at_most(const search *s, const edge *e, neo_expr x, int64_t most, neo_witness *w) {
  neo_axis_rec axes[NEO_DEF_AXES];
  neo_facts facts = neo_guarded_read_facts(s->m, s->def[e->reader], &e->read, axes);
  facts = s->lists ? with_lists(s, e, facts) : facts;
  neo_expr goal = neo_op2(s->m, NEO_OP_LE, x, neo_const_i64(s->m, most));
  return neo_prove(s->p, &facts, goal, w);
}

/* The largest distance that can be proved: the distance itself if it is constant, else -1 or 0. */
static bool distance_bound(const search *s, const edge *e, uint32_t from, uint32_t to, bool down,
                           int64_t *out) {
  neo_expr x = distance(s, e, from, to, down);
  if (!x.i)
    return false;
  if (is_constant(s, x, out))
    return *out < MOST_DELAY;
  neo_witness w = {0};
  *out = at_most(s, e, x, -1, &w) == NEO_PROVED ? -1 : 0;
  neo_proof proof = *out < 0 ? NEO_PROVED : at_most(s, e, x, 0, &w);
  if (proof != NEO_PROVED)
    fail(s, e, to, down, proof == NEO_REFUTED ? &w : NULL);
  return proof == NEO_PROVED;
}

/* ---- a level */

typedef struct { /* the definitions whose component is `own` */
  const uint32_t *at;
  uint32_t n;
  const uint32_t *component;
  uint32_t own;
} members;

static bool is_inside(const members *c, const edge *e) {
  return !e->carried && c->component[e->producer] == c->own && c->component[e->reader] == c->own;
}

static bool is_free(const search *s, uint32_t d, uint32_t axis) {
  return axis < def_of(s, d).n_out && axis < NEO_DEF_AXES && !(s->used[d] >> axis & 1);
}

/* Whether the reads by definition d, and the reads of its value, have a bounded distance, for all
 * pairs of axes that are known so far. */
static bool fits(const search *s, const members *c, const level *l, uint32_t d) {
  for (uint32_t k = s->first[d]; k < s->first[d + 1]; k++) {
    const edge *e = &s->edges.at[s->incident[k]];
    uint32_t from = l->axis[e->producer], to = l->axis[e->reader];
    int64_t x;
    if (is_inside(c, e) && from != NONE && to != NONE &&
        !distance_bound(s, e, from, to, l->down, &x))
      return false;
  }
  return true;
}

/* Whether the axis is at a constant distance, for the definition of the read that has no axis
 * yet. */
static bool is_exact(const search *s, const level *l, const edge *e, uint32_t axis) {
  uint32_t from = l->axis[e->producer], to = l->axis[e->reader];
  int64_t x;
  neo_expr d = distance(s, e, from == NONE ? axis : from, to == NONE ? axis : to, l->down);
  return d.i && is_constant(s, d, &x);
}

static bool has_exact(const search *s, const level *l, const edge *e, uint32_t other) {
  for (uint32_t k = 0; k < def_of(s, other).n_out; k++)
    if (is_free(s, other, k) && is_exact(s, l, e, k))
      return true;
  return false;
}

/* Gives definition d an axis, or NONE. */
static void set_axis(const search *s, level *l, uint32_t d, uint32_t axis) {
  l->axis[d] = axis;
  for (uint32_t k = s->first[d]; k < s->first[d + 1]; k++)
    l->inexact[s->incident[k]] = false;
}

/* A read between a definition with an axis and one without; null: none. Prefers a read that is at a
 * constant distance for some axis. */
static const edge *frontier(const search *s, const members *c, const level *l) {
  const edge *any = NULL;
  for (size_t k = 0; k < s->edges.n; k++) {
    const edge *e = &s->edges.at[k];
    uint32_t from = l->axis[e->producer], to = l->axis[e->reader];
    if ((from == NONE) == (to == NONE) || !is_inside(c, e))
      continue;
    if (!l->inexact[k] && has_exact(s, l, e, from == NONE ? e->producer : e->reader))
      return e;
    l->inexact[k] = true;
    any = any ? any : e;
  }
  return any;
}

static bool bound_edges(search *s, const members *c, const level *l) {
  for (size_t k = 0; k < s->edges.n; k++) {
    edge *e = &s->edges.at[k];
    if (is_inside(c, e) &&
        !distance_bound(s, e, l->axis[e->producer], l->axis[e->reader], l->down, &e->distance))
      return false;
  }
  return true;
}

/* Finds the least delays with which no read is of a later iteration; false: the reads have a cycle
 * that prevents it. (The constraints are differences: R. Bellman, "On a routing problem".) */
static bool find_delays(search *s, const members *c, level *l) {
  for (uint32_t iteration = 0; iteration <= c->n; iteration++) {
    bool changed = false;
    for (size_t k = 0; k < s->edges.n; k++) {
      const edge *e = &s->edges.at[k];
      int64_t least = is_inside(c, e) ? l->delay[e->producer] + e->distance : INT64_MIN;
      if (least <= l->delay[e->reader])
        continue;
      l->delay[e->reader] = least;
      changed = true;
    }
    if (!changed)
      return true;
  }
  return false;
}

/* Marks the reads of earlier iterations; false: there are none. */
static bool carry(search *s, const members *c, const level *l) {
  bool some = false;
  for (size_t k = 0; k < s->edges.n; k++) {
    edge *e = &s->edges.at[k];
    if (is_inside(c, e) && e->distance + l->delay[e->producer] < l->delay[e->reader])
      e->carried = some = true;
  }
  return some;
}

/* The level carries no read: reports a point whose read is of the same iteration. */
static void fail_to_carry(const search *s, const members *c, const level *l) {
  for (size_t k = 0; k < s->edges.n && !s->why->reader.i; k++) {
    const edge *e = &s->edges.at[k];
    uint32_t to = l->axis[e->reader];
    if (!is_inside(c, e))
      continue;
    neo_witness w = {0};
    neo_proof proof = at_most(s, e, distance(s, e, l->axis[e->producer], to, l->down), -1, &w);
    fail(s, e, to, l->down, proof == NEO_REFUTED ? &w : NULL);
  }
}

/* ---- the tree */

static bool find_steps(search *s, const members *c, neo_order_step *out);

static void fill_members(search *s, const members *c, const level *l, neo_order_step *out) {
  int64_t sign = l->down ? -1 : 1;
  *out = (neo_order_step){.down = l->down, .n_members = c->n};
  out->member = NEO_NEW_ARRAY(s->arena, neo_order_member, c->n);
  for (uint32_t k = 0; k < c->n; k++) {
    uint32_t d = c->at[k];
    out->member[k] =
        (neo_order_member){s->def[d], l->axis[d], sign * l->delay[d], owner_of(s, d, l->axis[d])};
  }
}

static void use_axes(search *s, const members *c, const level *l) {
  for (uint32_t k = 0; k < c->n; k++)
    s->used[c->at[k]] ^= (uint64_t)1 << l->axis[c->at[k]];
}

/* Whether lists have iterations of their own: where a member is delayed, there are more iterations
 * than lists. */
static bool lists_fit(const search *s, const members *c, const level *l) {
  bool by_owner = false, delayed = false;
  for (uint32_t k = 0; k < c->n && s->lists; k++) {
    uint32_t d = c->at[k];
    by_owner = by_owner || owner_of(s, d, l->axis[d]).i;
    delayed = delayed || l->delay[d];
  }
  return !by_owner || !delayed;
}

/* Whether the members can be ordered with the axes of the level; all members have one. */
static bool has_order(search *s, const members *c, level *l, neo_order_step *out) {
  memset(l->delay, 0, s->n * sizeof *l->delay);
  if (!bound_edges(s, c, l) || !find_delays(s, c, l) || !lists_fit(s, c, l))
    return false;
  bool *before = NEO_NEW_ARRAY(s->arena, bool, s->edges.n);
  for (size_t k = 0; k < s->edges.n; k++)
    before[k] = s->edges.at[k].carried;
  fill_members(s, c, l, out);
  use_axes(s, c, l);
  bool carried = carry(s, c, l), found = carried && find_steps(s, c, out);
  if (!carried && s->tells)
    fail_to_carry(s, c, l);
  use_axes(s, c, l);
  for (size_t k = 0; k < s->edges.n; k++) /* a later trial is for other members */
    s->edges.at[k].carried = before[k];
  return found;
}

/* Whether the level has an order, once all definitions have axes. After the last retry no more axes
 * are tried. */
static bool finish_level(search *s, const members *c, level *l, neo_order_step *out) {
  for (uint32_t k = 0; k < c->n; k++)
    if (l->axis[c->at[k]] == NONE)
      return false;
  if (has_order(s, c, l, out))
    return true;
  if (s->retries)
    s->retries--;
  else
    l->tries = 0;
  return false;
}

/* Searches for axes of the other definitions with which the level has an order. Axes at a constant
 * distance are tried first. Gives up after a number of tries. */
static bool find_axes(search *s, const members *c, level *l, neo_order_step *out) {
  const edge *e = frontier(s, c, l);
  if (!e)
    return finish_level(s, c, l, out);
  uint32_t other = l->axis[e->producer] == NONE ? e->producer : e->reader;
  for (int exact = 1; exact >= 0; exact--)
    for (uint32_t k = 0; k < def_of(s, other).n_out; k++) {
      if (!is_free(s, other, k) || is_exact(s, l, e, k) != exact || !l->tries)
        continue;
      l->tries--;
      set_axis(s, l, other, k);
      if (fits(s, c, l, other) && find_axes(s, c, l, out))
        return true;
      set_axis(s, l, other, NONE);
    }
  return false;
}

static bool try_level(search *s, const members *c, uint32_t axis, bool down, neo_order_step *out) {
  level l = {.down = down, .tries = MOST_TRIES + TRIES_EACH * c->n};
  l.axis = NEO_NEW_ARRAY(s->arena, uint32_t, s->n);
  l.delay = NEO_NEW_ARRAY(s->arena, int64_t, s->n);
  l.inexact = NEO_NEW_ARRAY(s->arena, bool, s->edges.n);
  for (uint32_t k = 0; k < s->n; k++)
    l.axis[k] = NONE;
  l.axis[c->at[0]] = axis;
  return find_axes(s, c, &l, out);
}

/* The first `most` orders of the members whose outermost loops differ. Returns how many. */
static uint32_t find_loops(search *s, const members *c, neo_order_step *out, uint32_t most) {
  uint32_t n = 0;
  for (uint32_t axis = 0; axis < def_of(s, c->at[0]).n_out; axis++)
    for (int down = 0; down < 2 && is_free(s, c->at[0], axis) && n < most; down++)
      n += try_level(s, c, axis, down, &out[n]);
  return n;
}

/* Splits the members by component, numbered 1 to n in order; part[k].n may be 0. */
static members *parts_of(search *s, const members *c, const uint32_t *component, uint32_t n) {
  uint32_t *at = NEO_NEW_ARRAY(s->arena, uint32_t, c->n), begin = 0;
  uint32_t *end = NEO_NEW_ARRAY(s->arena, uint32_t, n + 2);
  members *part = NEO_NEW_ARRAY(s->arena, members, n + 2);
  for (uint32_t k = 0; k < c->n; k++)
    part[component[c->at[k]]].n++;
  for (uint32_t k = 0; k <= n; k++) {
    uint32_t size = part[k].n;
    part[k] = (members){at + begin, size, component, k};
    end[k] = begin;
    begin += size;
  }
  for (uint32_t k = 0; k < c->n; k++)
    at[end[component[c->at[k]]]++] = c->at[k];
  return part;
}

/* By component: whether a member reads a member of the same component. */
static bool *loops_of(const search *s, const members *c, const uint32_t *component, uint32_t n) {
  bool *loops = NEO_NEW_ARRAY(s->arena, bool, n + 2);
  for (size_t k = 0; k < s->edges.n; k++) {
    const edge *e = &s->edges.at[k];
    if (is_inside(c, e) && component[e->producer] == component[e->reader])
      loops[component[e->reader]] = true;
  }
  return loops;
}

typedef NEO_VEC(neo_dependence) dependences;

/* Adds dependences that keep together the members of one inner loop: definitions that a pass wrote
 * for a common loop inside the outer one (neo_def_rec.inner_loop). */
static void join_inner_loops(search *s, const members *c, dependences *out) {
  for (uint32_t k = 0; k < c->n; k++) {
    uint32_t a = c->at[k], loop = def_of(s, a).inner_loop, i = k + 1;
    while (i < c->n && def_of(s, c->at[i]).inner_loop != loop)
      i++;
    if (!loop || i == c->n || s->used[a] != 1) /* the outer loop runs along their first axes */
      continue;
    NEO_PUSH(s->arena, out, (neo_dependence){a, c->at[i]});
    NEO_PUSH(s->arena, out, (neo_dependence){c->at[i], a});
  }
}

/* Whether the read is one bool for each point of the reader. */
static bool asks(const search *s, const edge *e) {
  const neo_node *n = neo_expr_node(s->m, e->read.read);
  bool plain = n->op == NEO_OP_LOAD && n->type == NEO_BOOL_T;
  for (uint32_t k = 0; k < n->arg.n && plain; k++)
    plain = neo_expr_node(s->m, neo_list_expr(s->m, n->arg, k))->op == NEO_OP_AXIS;
  return plain;
}

/* Joins loops in which one tests, in each iteration, a bool that the other computes: they share
 * their iterations, so that all of them can end early. An example are carries of a `while` that its
 * condition does not depend on. Loops between them are joined, too. False: there are no such
 * loops. */
static bool join_loops_that_ask(const search *s, const members *c, const uint32_t *component,
                                const bool *loops, dependences *out) {
  size_t before = out->n;
  for (size_t k = 0; k < s->edges.n; k++) {
    const edge *e = &s->edges.at[k];
    if (!is_inside(c, e) || component[e->producer] == component[e->reader])
      continue;
    if (loops[component[e->producer]] && loops[component[e->reader]] && asks(s, e))
      NEO_PUSH(s->arena, out, (neo_dependence){e->reader, e->producer});
  }
  return out->n > before;
}

/* Whether the definition is an integer or bool with one value per iteration. */
static bool may_choose(const search *s, uint32_t d) {
  neo_def_rec r = def_of(s, d);
  neo_type type = neo_tensor_type(s->m, neo_list_tensor(s->m, r.out, 0));
  return !neo_type_is_float(type) && r.n_out < 64 && s->used[d] == ((uint64_t)1 << r.n_out) - 1;
}

/* The components, 1 to n, producers first, in at[0 .. n - 1]. A value that selects in an iteration
 * comes as early as possible: a definition that is not selected need not run (ir/needed.h). */
static const uint32_t *early_first(const search *s, const members *part, const uint32_t *component,
                                   uint32_t n, const dependences *left) {
  uint32_t *at = NEO_NEW_ARRAY(s->arena, uint32_t, n + 1);
  uint32_t *open = NEO_NEW_ARRAY(s->arena, uint32_t, n + 2); /* number of reads of components that
                                                                are not placed yet */
  bool *placed = NEO_NEW_ARRAY(s->arena, bool, n + 2);
  for (size_t k = 0; k < left->n; k++)
    open[component[left->at[k].reader]] +=
        component[left->at[k].producer] != component[left->at[k].reader];
  for (uint32_t i = 0; i < n; i++) {
    uint32_t next = 0;
    bool early = false;
    for (uint32_t k = 1; k <= n && !early; k++) {
      if (placed[k] || open[k])
        continue;
      early = part[k].n && may_choose(s, part[k].at[0]);
      next = early || !next ? k : next;
    }
    placed[next] = true;
    at[i] = next;
    for (size_t k = 0; k < left->n; k++)
      open[component[left->at[k].reader]] -=
          component[left->at[k].producer] == next && component[left->at[k].reader] != next;
  }
  return at;
}

/* Finds the steps, with the members of a component in one step; true: they have an order. */
static bool find_steps_of(search *s, const members *c, const dependences *left, bool joins,
                          neo_order_step *out) {
  uint32_t *component = NEO_NEW_ARRAY(s->arena, uint32_t, s->n);
  uint32_t n = neo_components_of(left->at, left->n, s->n, s->arena, component);
  const members *part = parts_of(s, c, component, n);
  const bool *loops = loops_of(s, c, component, n);
  dependences more = {0};
  for (size_t k = 0; k < left->n && joins; k++)
    NEO_PUSH(s->arena, &more, left->at[k]);
  if (joins && join_loops_that_ask(s, c, component, loops, &more) &&
      find_steps_of(s, c, &more, false, out))
    return true;
  out->n_steps = 0;
  const uint32_t *next = early_first(s, part, component, n, left);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = next[i];
    neo_order_step *step = &out->step[out->n_steps];
    if (!part[k].n)
      continue;
    if (!loops[k])
      *step = (neo_order_step){.def = s->def[part[k].at[0]]};
    else if (!find_loops(s, &part[k], step, 1))
      return false;
    out->n_steps++;
  }
  return true;
}

/* Finds the steps of an iteration: definitions, and loops over those that are still a component. */
static bool find_steps(search *s, const members *c, neo_order_step *out) {
  dependences left = {0};
  for (size_t k = 0; k < s->edges.n; k++)
    if (is_inside(c, &s->edges.at[k]))
      NEO_PUSH(s->arena, &left, (neo_dependence){s->edges.at[k].producer, s->edges.at[k].reader});
  join_inner_loops(s, c, &left);
  out->step = NEO_NEW_ARRAY(s->arena, neo_order_step, c->n);
  return find_steps_of(s, c, &left, true, out);
}

static uint32_t find_orders(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                            neo_order_step *out, uint32_t most, bool lists,
                            neo_order_failure *why) {
  neo_order_failure unused = {0};
  search s = {.p = p, .m = neo_prover_module(p), .arena = arena, .def = defs, .n = (uint32_t)n};
  s.why = why ? why : &unused;
  s.tells = why != NULL;
  s.lists = lists;
  *s.why = (neo_order_failure){0};
  s.used = NEO_NEW_ARRAY(arena, uint64_t, n);
  find_edges(&s);
  index_edges(&s);
  uint32_t *at = NEO_NEW_ARRAY(arena, uint32_t, n);
  members all = {at, s.n, NEO_NEW_ARRAY(arena, uint32_t, n), 0};
  for (uint32_t k = 0; k < s.n; k++)
    at[k] = k;
  bool insisted = neo_prover_insist(p, true);
  uint64_t given_up = neo_prover_given_up(p);
  uint32_t found = find_loops(&s, &all, out, most);
  if (!found) {
    s.retries = MOST_RETRIES;
    found = find_loops(&s, &all, out, most);
  }
  (void)neo_prover_insist(p, insisted);
  if (!found && !s.why->reader.i && s.edges.n)
    *s.why = (neo_order_failure){.reader = s.def[s.edges.at[0].reader],
                                 .producer = s.def[s.edges.at[0].producer],
                                 .read = s.edges.at[0].read.read};
  s.why->gave_up = neo_prover_given_up(p) != given_up || !s.retries;
  return found;
}

uint32_t neo_orders_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                         neo_order_step *out, uint32_t most, neo_order_failure *why) {
  return find_orders(p, defs, n, arena, out, most, false, why);
}

bool neo_order_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                    neo_order_step *out, neo_order_failure *why) {
  return neo_orders_find(p, defs, n, arena, out, 1, why) == 1;
}

/* ---- by owner */

/* Whether a definition has an axis of positions of lists. */
static bool may_run_by_owner(const neo_module *m, const neo_def *defs, size_t n) {
  for (size_t k = 0; k < n; k++) {
    neo_def_rec d = *neo_def_at(m, defs[k]);
    for (uint32_t i = 0; i < d.n_out; i++)
      if (neo_owner_of(m, neo_def_axis(m, &d, i)->hi).i)
        return true;
  }
  return false;
}

uint32_t neo_list_orders_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                              neo_order_step *out, uint32_t most, neo_order_failure *why) {
  uint32_t found = 0;
  if (may_run_by_owner(neo_prover_module(p), defs, n))
    found = find_orders(p, defs, n, arena, out, most, true, why);
  return found ? found : neo_orders_find(p, defs, n, arena, out, most, why);
}

bool neo_list_order_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                         neo_order_step *out, neo_order_failure *why) {
  return neo_list_orders_find(p, defs, n, arena, out, 1, why) == 1;
}

bool neo_order_has_lists(const neo_order_step *loop) {
  bool has = false;
  for (uint32_t k = 0; k < loop->n_members; k++)
    has = has || loop->member[k].owner.i;
  for (uint32_t k = 0; k < loop->n_steps; k++)
    has = has || (!loop->step[k].def.i && neo_order_has_lists(&loop->step[k]));
  return has;
}

/* ---- a module */

static void tell(const neo_module *m, const neo_order_failure *f, neo_str *why) {
  neo_tensor t = neo_def_out(m, f->reader, 0);
  neo_tensor read = {neo_expr_node(m, f->read)->attr};
  neo_str_addf(
      why,
      "definitions: %s needs itself, and nothing shows that its read of %s is of an earlier "
      "element",
      neo_tensor_name(m, t), neo_tensor_name(m, read));
}

static neo_status check_orders(neo_module *m, const neo_def *defs, size_t n_defs, neo_arena *a,
                               neo_str *why, neo_order_failure *failure) {
  neo_order_step loop;
  neo_status status = NEO_OK;
  uint32_t *numbers = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  uint32_t n_found = neo_recurrences(m, defs, n_defs, a, numbers);
  neo_prover *p = neo_prover_new(m);
  for (uint32_t number = 1; number <= n_found && !status; number++) {
    size_t n;
    const neo_def *own = neo_recurrence_members(numbers, (uint32_t)m->defs.n, number, a, &n);
    if (neo_list_order_find(p, own, n, a, &loop, failure))
      continue;
    tell(m, failure, why);
    status = NEO_INTERNAL;
  }
  neo_prover_free(p);
  return status;
}

neo_status neo_module_check(neo_module *m, neo_str *why) {
  neo_order_failure failure;
  return neo_module_check_orders(m, why, &failure);
}

neo_status neo_module_check_orders(neo_module *m, neo_str *why, neo_order_failure *failure) {
  neo_def *defs;
  bool recurrences;
  neo_status s = neo_module_verify(m, why);
  *failure = (neo_order_failure){0};
  if (s)
    return s;
  neo_arena scratch = neo_arena_scratch(m->arena);
  neo_tensor *roots = NEO_NEW_ARRAY(&scratch, neo_tensor, m->tensors.n);
  for (uint32_t k = 1; k < m->tensors.n; k++)
    roots[k - 1].i = k;
  size_t n = neo_module_topo(m, roots, m->tensors.n - 1, &scratch, &defs, &recurrences);
  s = recurrences ? check_orders(m, defs, n, &scratch, why, failure) : NEO_OK;
  neo_arena_free(&scratch);
  return s;
}

neo_status neo_module_check_reads(neo_module *m, neo_str *why) {
  neo_status s = neo_module_check(m, why);
  return s ? s : neo_reads_verify(m, why);
}

/* ---- iterations */

void neo_order_iterations(neo_module *m, const neo_order_step *loop, neo_expr *lo, neo_expr *hi) {
  *lo = *hi = (neo_expr){0};
  for (uint32_t k = 0; k < loop->n_members; k++) {
    neo_order_member x = loop->member[k];
    neo_expr delay = neo_const_i64(m, x.delay);
    neo_expr end = x.owner.i ? neo_tensor_at(m, x.owner)->bound
                             : neo_def_axis(m, neo_def_at(m, x.def), x.axis)->hi;
    end = neo_op2(m, NEO_OP_ADD, end, delay);
    *lo = lo->i ? neo_op2(m, NEO_OP_MIN, *lo, delay) : delay;
    *hi = hi->i ? neo_op2(m, NEO_OP_MAX, *hi, end) : end;
  }
}
