/* Column sums in the kernel that reduces the rows: the move to it.
 *
 *     group 1, rows r   m[r] = mean[c] X[r, c],   Y[r, c] = X[r, c] - m[r]
 *     group 2           partial.b[s, c] = sum[i: 256] D[q, c] * (X[q, c] - m[q]),   q = 256*s + i
 *     ->
 *     group 1, rows r   m[r] = ..,   Y[r, c] = ..,
 *                       partial.b[r/256, c] += D[r, c] * (X[r, c] - m[r])
 *
 * Both read X, which is in no cache any more when a second kernel runs; partial.b[r/256] stays in a
 * cache. One worker has the rows of a block, in order (codegen/lower/lower.c).
 *
 * The move comes last, on finished groups: group 1 keeps its position in the order. All other reads
 * of the sums must therefore exist by then, and results of group 1 are read at the current row. */
#include "fusion/search/search.h"
#include "ir/row_blocks.h"

typedef struct {
  fuser *q;
  const neo_grouping *all;
  const neo_group *sums, *rows;
  size_t at;       /* index of `rows` */
  uint32_t shared; /* its shared axes */
} joiner;

static const neo_def_rec *def_of(const joiner *x, const neo_member *y) {
  return neo_def_at(x->q->m, y->def);
}

static bool has(const neo_tensor *at, size_t n, neo_tensor t) {
  for (size_t k = 0; k < n; k++)
    if (at[k].i == t.i)
      return true;
  return false;
}

static bool updates_any(const joiner *x, const neo_group *g) {
  for (size_t k = 0; k < g->roots.n; k++)
    if (neo_tensor_at(x->q->m, g->roots.at[k])->updates.i)
      return true;
  return false;
}

/* ---- matching the groups */

/* Are all members sums over equal row blocks? */
static bool all_row_blocks(neo_module *m, const neo_group *g, neo_row_block *run) {
  for (size_t k = 0; k < g->members.n; k++) {
    neo_row_block x;
    const neo_member *y = &g->members.at[k];
    if (y->place != NEO_PLACE_ROOT || y->shared || !neo_row_block_of(m, y->def, &x) ||
        (k && (x.at != run->at || x.length != run->length || x.extent.i != run->extent.i)))
      return false;
    *run = x;
  }
  return g->members.n > 0;
}

/* Has the group rows of that many axes and that extent? It reduces them along columns of this
 * extent, and needs no other loops. */
static bool over_rows(joiner *x, const neo_row_block *run) {
  neo_module *m = x->q->m;
  const neo_def_rec *sum = def_of(x, &x->sums->members.at[0]);
  uint32_t least = UINT32_MAX, reduce = 0;
  x->shared = run->at + 1;
  for (size_t k = 0; k < x->rows->members.n; k++) {
    const neo_member *y = &x->rows->members.at[k];
    const neo_def_rec *d = def_of(x, y);
    const fuse_def *f = &x->q->def[y->def.i];
    if (y->place == NEO_PLACE_INLINE)
      continue;
    if (y->row_block && neo_form_row_block(neo_group_form(m, x->rows)) != run->length)
      return false;
    if (y->row_block)
      continue;
    if (y->shared || f->product || f->equation || f->scans || f->lone)
      return false;
    least = d->n_out < least ? d->n_out : least;
    for (uint32_t i = 0; i < x->shared && i < d->n_out; i++)
      if (neo_def_axis(m, d, i)->hi.i !=
          (i < run->at ? neo_def_axis(m, sum, i)->hi.i : run->extent.i))
        return false;
    if (d->reducer != NEO_RED_NONE && d->axes.n == x->shared + 1 &&
        neo_def_axis(m, d, x->shared)->hi.i == neo_def_axis(m, sum, x->shared)->hi.i)
      reduce++;
  }
  return least == x->shared && reduce > 0;
}

static bool same_entries(const joiner *x) {
  uint32_t set = x->q->def[x->sums->members.at[0].def.i].entries;
  const neo_group *both[] = {x->rows, x->sums};
  for (int g = 0; g < 2; g++)
    for (size_t k = 0; k < both[g]->members.n; k++)
      if (both[g]->members.at[k].place != NEO_PLACE_INLINE &&
          x->q->def[both[g]->members.at[k].def.i].entries != set)
        return false;
  return true;
}

/* ---- reads */

/* Are all reads of the sums computed before the rows' kernel? */
static bool is_there(const joiner *x) {
  for (size_t g = x->at + 1; g < x->all->groups.n; g++) {
    const neo_group *later = &x->all->groups.at[g];
    for (size_t k = 0; k < later->roots.n; k++)
      if (has(x->sums->reads.at, x->sums->reads.n, later->roots.at[k]))
        return false;
  }
  return true;
}

typedef struct {
  const joiner *x;
  bool elsewhere;
} places;

/* Finds a read of a result of the rows' kernel at another row. */
static void find_elsewhere(void *ctx, neo_expr e) {
  places *p = ctx;
  const neo_module *m = p->x->q->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n) ||
      !has(p->x->rows->roots.at, p->x->rows->roots.n, (neo_tensor){n->attr}))
    return;
  for (uint32_t k = 0; k < p->x->shared; k++) {
    const neo_node *i = k < n->arg.n ? neo_expr_node(m, neo_list_expr(m, n->arg, k)) : NULL;
    if (!i || i->op != NEO_OP_AXIS || i->attr != k)
      p->elsewhere = true;
  }
}

static bool at_current_row(const joiner *x) {
  places p = {x, false};
  for (size_t k = 0; k < x->sums->members.n && !p.elsewhere; k++) {
    neo_row_block run;
    if (neo_row_block_of(x->q->m, x->sums->members.at[k].def, &run))
      neo_expr_visit(x->q->m, run.body, find_elsewhere, &p);
  }
  return !p.elsewhere;
}

/* Do both read the same matrix, or one a result of the other? */
static bool share_matrix(const joiner *x) {
  for (size_t k = 0; k < x->sums->reads.n; k++) {
    neo_tensor t = x->sums->reads.at[k];
    if (neo_tensor_rank(x->q->m, t) > x->shared && (has(x->rows->reads.at, x->rows->reads.n, t) ||
                                                    has(x->rows->roots.at, x->rows->roots.n, t)))
      return true;
  }
  return false;
}

static bool fit(joiner *x, const neo_row_block *run) {
  return x->rows->entry == x->sums->entry && !x->rows->cached && over_rows(x, run) &&
         same_entries(x) && !updates_any(x, x->rows) && !updates_any(x, x->sums) &&
         x->rows->roots.n + x->sums->roots.n <= FUSE_MOST_OUTS && share_matrix(x) &&
         at_current_row(x) && is_there(x);
}

/* ---- joining */

/* Bytes that the sums read and the rows' kernel reads or computes. */
static double cached_bytes(const joiner *x) {
  double bytes = 0;
  for (size_t k = 0; k < x->sums->reads.n; k++) {
    neo_tensor t = x->sums->reads.at[k];
    if (has(x->rows->reads.at, x->rows->reads.n, t) || has(x->rows->roots.at, x->rows->roots.n, t))
      bytes += fuse_bytes(x->q, t);
  }
  return bytes;
}

/* The cost of both in one launch, cached bytes read once. */
static neo_group_cost joined_cost(const joiner *x) {
  neo_group_cost a = x->rows->cost, b = x->sums->cost;
  double cached = cached_bytes(x);
  double left = b.read_bytes > cached ? 1 - cached / b.read_bytes : 0;
  a.read_bytes += b.read_bytes * left;
  a.written_bytes += b.written_bytes;
  a.work += b.work;
  a.products += b.products;
  a.read_s += b.read_s * left;
  a.written_s += b.written_s;
  a.work_s += b.work_s;
  a.total_s = a.written_s + a.read_s + a.work_s + a.launch_s;
  return a;
}

static neo_group joined(const joiner *x) {
  neo_group g = {.entry = x->rows->entry, .cost = joined_cost(x)};
  for (size_t k = 0; k < x->rows->members.n; k++)
    NEO_PUSH(x->q->a, &g.members, x->rows->members.at[k]);
  for (size_t k = 0; k < x->sums->members.n; k++) {
    neo_member y = x->sums->members.at[k];
    y.row_block = true;
    NEO_PUSH(x->q->a, &g.members, y);
  }
  neo_group_finish(x->q->m, x->q->a, &g);
  return g;
}

/* ---- the row of the table */

/* Groups of `made`: x->a has the sums, x->b the rows. */
static joiner joiner_of(fuser *q, const fuse_move *x) {
  const neo_group *groups = q->made->groups.at;
  return (joiner){.q = q, .all = q->made, .sums = &groups[x->a], .rows = &groups[x->b], .at = x->b};
}

/* Offers every earlier group as rows. */
static void match(fuser *q, uint32_t g, fuse_moves *out) {
  neo_row_block block;
  if (!all_row_blocks(q->m, &q->made->groups.at[g], &block))
    return;
  for (uint32_t k = q->first_made; k < g; k++)
    NEO_PUSH(q->a, out, (fuse_move){.a = g, .b = k});
}

static bool price(fuser *q, fuse_move *x, const char **why) {
  joiner j = joiner_of(q, x);
  neo_row_block block;
  *why = "no kernel goes over these rows";
  if (!all_row_blocks(q->m, j.sums, &block) || !fit(&j, &block))
    return false;
  x->reward = j.rows->cost.total_s + j.sums->cost.total_s - joined_cost(&j).total_s;
  return true;
}

static bool apply(fuser *q, const fuse_move *x, fuse_list *changed) {
  joiner j = joiner_of(q, x);
  neo_group y = joined(&j);
  (void)changed; /* the state has none of these groups */
  q->made->groups.at[x->b] = y;
  for (size_t k = x->a; k + 1 < q->made->groups.n; k++)
    q->made->groups.at[k] = q->made->groups.at[k + 1];
  q->made->groups.n--;
  return true;
}

static neo_decision describe(fuser *q, const fuse_move *x) {
  const neo_group *groups = q->made->groups.at;
  return (neo_decision){.verb = NEO_DECISION_JOIN,
                        .kind = NEO_FUSE_COLUMNS,
                        .of = groups[x->a].roots.at[0],
                        .with = fuse_with(q, groups[x->b].roots.at[0]),
                        .n_with = 1};
}

const fuse_rules fuse_columns_rules = {
    .when = FUSE_LAST, .match = match, .price = price, .apply = apply, .describe = describe};
