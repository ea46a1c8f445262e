/* What a recurrence reads but does not make, a position in each round, where nobody else reads it:
 *
 *     p[t, b, j] = sum[i] X[t, b, i]*W[i, j]           (transform/distribute.c)
 *     h[t, b, j] = tanh(p[t, b, j] + sum[k] (h[t-1, b, k] else 0)*U[k, j])
 *
 * It leads: it is made for a block of rounds at once, before them, in a ring that holds one block
 * (ring.c), and so the memory for it does not grow with the rounds. A block has so many rounds that a
 * product fills its register tiles and reads its weights for enough rows; more would only need more
 * memory. If the rounds can be divided evenly into blocks of about that length, they are. */
#include "fusion/recurrence/internal.h"

enum { ROWS = 256, LEAST_ROUNDS = 4, MOST_ROUNDS = 64, UNKNOWN_ROUNDS = 16, LEAST_BLOCKS = 3 };

typedef struct {
  neo_module *m;
  const neo_order_step *loop;
  neo_def lead, reader;
  uint64_t axes; /* of the lead, that may be the loop's */
  bool reads;
} lead_look;

static bool makes(const neo_module *m, neo_def d, uint32_t t) {
  neo_list out = neo_def_at(m, d)->out;
  for (uint32_t k = 0; k < out.n; k++)
    if (neo_list_at(m, out, k) == t)
      return true;
  return false;
}

/* ---- which axis is the loop's */

static void look_axis(void *ctx, neo_expr e) {
  lead_look *l = ctx;
  neo_module *m = l->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!outline_is_read(n) || !makes(m, l->lead, n->attr))
    return;
  const neo_order_member *x = outline_member(l->loop, l->reader);
  neo_expr round = x ? neo_axis_ref(m, x->axis) : (neo_expr){0};
  l->reads = true;
  for (uint32_t k = 0; k < neo_tensor_rank(m, (neo_tensor){n->attr}); k++)
    if (!x || x->delay || neo_expr_arg(m, e, k).i != round.i)
      l->axes &= ~((uint64_t)1 << k);
}

/* Has axis k as many positions as each of the loop's definitions has along its own? */
static bool has_all_rounds(neo_module *m, const neo_order_step *loop, neo_def d, uint32_t k) {
  int64_t least;
  const neo_axis_rec *axis = neo_def_axis(m, neo_def_at(m, d), k);
  neo_expr lo, hi;
  neo_order_rounds(m, loop, &lo, &hi);
  return neo_expr_is_int(m, axis->lo, &least) && least == 0 && axis->hi.i == hi.i &&
         neo_expr_is_int(m, lo, &least) && least == 0;
}

bool neo_recurrence_leads(neo_module *m, const neo_order_step *loop, const neo_def *readers,
                          size_t n, neo_def d, neo_order_member *out) {
  const neo_def_rec *r = neo_def_at(m, d);
  lead_look l = {.m = m, .loop = loop, .lead = d};
  if (r->out_map.n || r->n_out > 63)
    return false;
  /* a sum over an equation finds all of its terms at once: each round would look for its own */
  if (neo_tensor_at(m, (neo_tensor){neo_list_at(m, r->out, 0)})->terms)
    return false;
  l.axes = ((uint64_t)1 << r->n_out) - 1;
  for (size_t k = 0; k < n; k++) {
    l.reader = readers[k];
    neo_def_visit(m, readers[k], look_axis, &l);
  }
  for (uint32_t k = 0; k < r->n_out && l.reads; k++)
    if (l.axes >> k & 1 && has_all_rounds(m, loop, d, k)) {
      *out = (neo_order_member){.def = d, .axis = k};
      return true;
    }
  return false;
}

/* ---- how many rounds a block has */

typedef struct {
  neo_module *m;
  uint32_t axis;
  uint64_t rows; /* output axes of reads that change with the rounds */
} row_look;

static void look_rows(void *ctx, neo_expr e) {
  row_look *l = ctx;
  uint64_t axes = neo_expr_axes(l->m, e);
  if (outline_is_read(neo_expr_node(l->m, e)) && axes >> l->axis & 1)
    l->rows |= axes;
}

static int64_t rounds_for_rows(neo_module *m, const neo_order_member *x) {
  const neo_def_rec *d = neo_def_at(m, x->def);
  row_look l = {m, x->axis, 0};
  int64_t rows = 1, extent;
  neo_def_visit(m, x->def, look_rows, &l);
  for (uint32_t k = 0; k < d->n_out && rows < ROWS; k++) {
    if (k == x->axis || !(l.rows >> k & 1))
      continue;
    if (!neo_expr_is_int(m, neo_def_axis(m, d, k)->hi, &extent))
      return UNKNOWN_ROUNDS;
    rows *= extent > 1 ? extent : 1;
  }
  int64_t n = (ROWS + rows - 1) / rows;
  return n < LEAST_ROUNDS ? LEAST_ROUNDS : n > MOST_ROUNDS ? MOST_ROUNDS : n;
}

int64_t neo_recurrence_block(neo_module *m, const neo_order_member *lead, size_t n,
                             uint32_t tile_rounds) {
  int64_t rounds = 0, all;
  if (!n || tile_rounds)
    return n ? tile_rounds : 0;
  for (size_t k = 0; k < n; k++) {
    int64_t own = rounds_for_rows(m, &lead[k]);
    rounds = own > rounds ? own : rounds;
  }
  if (!neo_expr_is_int(m, neo_def_axis(m, neo_def_at(m, lead->def), lead->axis)->hi, &all))
    return rounds;
  for (int64_t d = rounds; d < 2 * rounds; d++)
    if (all % d == 0 && all >= LEAST_BLOCKS * d)
      return d;
  return all < LEAST_BLOCKS * rounds ? 0 : rounds;
}

/* ---- of the recurrence at hand */

/* The leading definitions run in the loop, before the rest. */
static void put_first(const outliner *o, neo_order_step *loop) {
  size_t n = o->n_lead;
  neo_order_step *step = NEO_NEW_ARRAY(o->a, neo_order_step, n + loop->n_steps);
  for (size_t k = 0; k < n; k++)
    step[k].def = o->lead[k];
  for (uint32_t k = 0; k < loop->n_steps; k++)
    step[n + k] = loop->step[k];
  loop->step = step;
  loop->n_steps += (uint32_t)n;
}

void outline_lead(outliner *o, neo_order_step *order) {
  neo_def *readers = NEO_NEW_ARRAY(o->a, neo_def, o->n + 1);
  neo_order_member *own = NEO_NEW_ARRAY(o->a, neo_order_member, order->n_members + o->n_lead + 1);
  neo_order_step with = *order;
  bool leads;
  o->lead_rounds = 0;
  o->lead_in_blocks = false;
  for (uint32_t k = 0; k < order->n_members; k++)
    own[k] = order->member[k];
  for (size_t k = 0; k < o->n; k++)
    readers[k] = o->defs[k];
  with.member = own;
  for (size_t k = o->n_lead; k-- > 0; with.n_members++) /* readers first */
    if (!neo_recurrence_leads(o->m, &with, readers, o->n, o->lead[k], &own[with.n_members]))
      return;
  if (o->n_lead && o->options->no_streaming && outline_blocks_of(o, &with, &leads).i) {
    put_first(o, &with);
    o->lead_in_blocks = true;
    *order = with;
    return;
  }
  o->lead_rounds =
      neo_recurrence_block(o->m, own + order->n_members, o->n_lead, o->options->tile_rounds);
  if (o->lead_rounds)
    *order = with;
}
