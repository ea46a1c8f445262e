/* The move that lets loops of one worker share one loop.
 *
 *     group 1   level[v] = max[k] (level[child[v, k]] else -1) + 1             a recurrence along v
 *     group 2   count[l] = sum[v where level[v] == l] 1                        a segmented sum: runs along v
 *     group 3   rank[v] = sum[u < v where level[u] == level[v]] 1              a running sum along v
 *
 * Each goes through the same positions and reads what the one before has just made, so that a call of a kernel, and
 * loads and stores, cost more than what they compute. Only definitions that make a few integers at a position are taken:
 * these are tables of positions, of which vectors and further workers make little. The move comes after all others,
 * on groups that are finished: the first group keeps its place in the order, and what the other one reads has to be made
 * by then. What it reads of the group has to be made position by position, so not by a segmented sum. Which
 * loops are fused in the end follows from what they read and write (codegen/fused_loops.c); the others stay
 * apart. (Loop fusion: R. Allen, K. Kennedy, Optimizing compilers for modern architectures, section 8.2.) */
#include "fusion/recurrence.h"
#include "fusion/search/search.h"

enum { MOST_VALUES = 16 /* that a definition computes at a position */ };

/* ---- along which positions a definition runs */

/* Is the axis as short as what runs at each position? *n is multiplied by its extent. */
static bool is_short(neo_module *m, const neo_def_rec *d, uint32_t axis, int64_t *n) {
  int64_t extent;
  bool is = neo_expr_is_int(m, neo_def_axis(m, d, axis)->hi, &extent) && extent <= MOST_VALUES;
  *n *= is ? extent : 1;
  return is && *n <= MOST_VALUES;
}

/* Does a conjunct say that an output axis equals what is loaded? */
static bool is_segment(const neo_module *m, const neo_def_rec *d, neo_expr where) {
  if (!where.i)
    return false;
  const neo_node *n = neo_expr_node(m, where);
  if (n->op == NEO_OP_AND)
    return is_segment(m, d, neo_list_expr(m, n->arg, 0)) ||
           is_segment(m, d, neo_list_expr(m, n->arg, 1));
  for (uint32_t k = 0; n->op == NEO_OP_EQ && k < 2; k++) {
    const neo_node *x = neo_expr_node(m, neo_list_expr(m, n->arg, k));
    if (x->op == NEO_OP_AXIS && x->attr < d->n_out)
      return true;
  }
  return false;
}

static bool makes_integers(const neo_module *m, const neo_def_rec *d) {
  bool are = !d->out_map.n;
  for (uint32_t k = 0; k < d->out.n && are; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, (neo_tensor){neo_list_at(m, d->out, k)});
    are = neo_type_is_int((neo_type)t->type) && t->role == NEO_ROLE_TEMP && t->pieces.n == 1;
  }
  return are;
}

/* How many positions it runs along; 0: it is not of this kind. *late: its results are there behind the last. */
static neo_expr positions_of(const fuser *q, neo_def id, bool *late) {
  neo_module *m = q->m;
  neo_def_rec d = *neo_def_at(m, id);
  int64_t values = 1, lo;
  *late = d.reducer != NEO_RED_NONE && is_segment(m, &d, d.where);
  bool running = !*late && q->def[id.i].scans;
  uint32_t along = *late ? d.n_out : 0, end = running ? d.n_out : d.axes.n;
  bool fits = makes_integers(m, &d) && along < d.axes.n && d.out.n == 1 &&
              neo_expr_is_int(m, neo_def_axis(m, &d, along)->lo, &lo) && lo == 0;
  for (uint32_t k = 0; k < end && fits; k++)
    fits = k == along || (*late && k == 0) || is_short(m, &d, k, &values);
  return fits ? neo_def_axis(m, &d, along)->hi : (neo_expr){0};
}

/* A recurrence of one loop, whose rounds are short. */
static neo_expr rounds_of(neo_module *m, const neo_group *g) {
  const neo_tree *t = g->recurrence->tree.root;
  int64_t lo, values = 1;
  bool fits = t->kind == NEO_TREE_BAND && !t->band.down && !t->band.rows.first.i &&
              g->members.n == 1 && neo_expr_is_int(m, t->band.lo, &lo) && lo == 0;
  for (size_t k = 0; k < g->members.n && fits; k++) {
    neo_def_rec d = *neo_def_at(m, g->members.at[k].def);
    fits = makes_integers(m, &d) && neo_def_axis(m, &d, 0)->hi.i == t->band.hi.i;
    for (uint32_t i = 1; i < d.axes.n && fits; i++)
      fits = is_short(m, &d, i, &values);
  }
  return fits ? t->band.hi : (neo_expr){0};
}

/* Along how many positions the group runs, which is over sizes; 0: it is not of this kind. What is late is alone. */
static neo_expr extent_of(const fuser *q, const neo_group *g, bool *late) {
  neo_expr extent = {0};
  int64_t constant;
  *late = false;
  if (g->when.n || g->cached)
    return extent;
  if (g->loops.n)
    return extent_of(q, &g->loops.at[0], late);
  if (g->recurrence)
    return rounds_of(q->m, g);
  for (size_t k = 0; k < g->members.n; k++) {
    const neo_member *x = &g->members.at[k];
    if (x->place == NEO_PLACE_INLINE)
      continue;
    bool other = *late;
    neo_expr positions = x->row_block ? (neo_expr){0} : positions_of(q, x->def, late);
    if (!positions.i || neo_expr_is_int(q->m, positions, &constant) ||
        (extent.i && (extent.i != positions.i || other || *late)))
      return (neo_expr){0};
    extent = positions;
  }
  return extent;
}

/* ---- two groups */

typedef struct {
  fuser *q;
  const neo_group *to, *from; /* which keeps its place, and which joins it */
  size_t at;                  /* the place */
} pair;

/* Groups of `made`: x->a joins x->b. */
static pair pair_of(fuser *q, const fuse_move *x) {
  const neo_group *groups = q->made->groups.at;
  return (pair){q, &groups[x->b], &groups[x->a], x->b};
}

static bool reads(const neo_group *g, neo_tensor t) {
  for (size_t k = 0; k < g->reads.n; k++)
    if (g->reads.at[k].i == t.i)
      return true;
  return false;
}

static bool reads_any(const neo_group *g, const neo_group *of) {
  for (size_t k = 0; k < of->roots.n; k++)
    if (reads(g, of->roots.at[k]))
      return true;
  return false;
}

/* Is all that it reads made by the place, and nothing of the loop only behind its last position? */
static bool is_there(const pair *x) {
  bool late;
  for (size_t g = x->at + 1; g < x->q->made->groups.n; g++)
    if (reads_any(x->from, &x->q->made->groups.at[g]))
      return false;
  for (size_t k = 0; k < x->to->loops.n; k++) {
    (void)extent_of(x->q, &x->to->loops.at[k], &late);
    if (late && reads_any(x->from, &x->to->loops.at[k]))
      return false;
  }
  (void)extent_of(x->q, x->to, &late);
  return x->to->loops.n || !late || !reads_any(x->from, x->to);
}

static bool same_entries(const pair *x) {
  const neo_group *both[] = {x->to, x->from};
  uint32_t set = x->q->def[x->to->members.at[0].def.i].entries;
  for (int g = 0; g < 2; g++)
    for (size_t k = 0; k < both[g]->members.n; k++)
      if (x->q->def[both[g]->members.at[k].def.i].entries != set)
        return false;
  return true;
}

/* ---- the row */

static void match(fuser *q, uint32_t g, fuse_moves *out) {
  bool late;
  neo_expr extent = extent_of(q, &q->made->groups.at[g], &late);
  for (uint32_t k = q->first_made; k < g && extent.i; k++)
    if (extent_of(q, &q->made->groups.at[k], &late).i == extent.i)
      NEO_PUSH(q->a, out, (fuse_move){.a = g, .b = k});
}

static bool price(fuser *q, fuse_move *x, const char **why) {
  pair y = pair_of(q, x);
  *why = "what it reads is made later";
  if (y.to->entry != y.from->entry || !same_entries(&y) || !is_there(&y))
    return false;
  x->reward = q->profile->launch_s;
  return true;
}

static neo_group_cost cost_of(const neo_group *a, const neo_group *b, double launch_s) {
  neo_group_cost x = fuse_cost_sum(a->cost, b->cost);
  x.launch_s = launch_s;
  x.total_s = x.written_s + x.read_s + x.work_s + x.launch_s;
  return x;
}

static bool apply(fuser *q, const fuse_move *x, fuse_list *changed) {
  pair p = pair_of(q, x);
  neo_group y = {.entry = p.to->entry, .cost = cost_of(p.to, p.from, q->profile->launch_s)};
  (void)changed; /* no group of the state */
  for (size_t k = 0; k < p.to->loops.n; k++)
    NEO_PUSH(q->a, &y.loops, p.to->loops.at[k]);
  if (!p.to->loops.n)
    NEO_PUSH(q->a, &y.loops, *p.to);
  NEO_PUSH(q->a, &y.loops, *p.from);
  neo_group_finish_loops(q->m, q->a, &y);
  q->made->groups.at[x->b] = y;
  for (size_t k = x->a; k + 1 < q->made->groups.n; k++)
    q->made->groups.at[k] = q->made->groups.at[k + 1];
  q->made->groups.n--;
  return true;
}

static neo_decision describe(fuser *q, const fuse_move *x) {
  const neo_group *groups = q->made->groups.at;
  return (neo_decision){.verb = NEO_DECISION_JOIN,
                        .kind = NEO_FUSE_LOOPS,
                        .of = groups[x->a].roots.at[0],
                        .with = fuse_with(q, groups[x->b].roots.at[0]),
                        .n_with = 1};
}

const fuse_rules fuse_loops_rules = {
    .when = FUSE_LAST, .match = match, .price = price, .apply = apply, .describe = describe};
