/* Which tensors need not be in memory as a whole: nobody outside reads them, and each round reads
 * elements of the last few only. Of such a tensor there are as many slices as rounds that one reaches
 * back, and one for the round at hand; position p along the loop's axis lies at p modulo their number.
 * (The number of rounds that a value lives, as for the storage of I. Wonnacott's and D. Wilde's
 * occupancy vectors, along one axis.)
 *
 *     u[t, i] = 2*u[t-1, i] - u[t-2, i]      3 slices
 *
 * What is written in a round is in the place of what the round before it could read last, so the order
 * within a round does not matter. Where elements that far back are only read for the element that takes their
 * place, as u[t-2, i] here, and nothing else of the round reads what is written, one slice less is enough:
 * an element is read before it is replaced. What is computed so is not computed again: who reads it is in another
 * segment (segments.c). Definitions behind the loops may read the last slices. Of what
 * leads a loop (lead.c) the rounds of a block are there: the next block is in their place. */
#include "fusion/recurrence/internal.h"
#include "ir/clone.h"
#include "ir/element.h"

typedef struct {
  outliner *o;
  const neo_order_step *order; /* the outermost loop */
  neo_tensor tensor;
  const neo_order_member *member; /* of its definition, in the outermost loop */
  bool down, behind;              /* the loop's direction; the walk is behind a loop of rounds */
  bool good;
  int64_t n, n_apart;        /* slices that are needed: in place, or not */
  bool reads_round;          /* a definition of the same round reads the tensor */
  int64_t head;              /* rounds that are computed at once before the first loop */
  const outline_instance *x; /* at hand */
} ring;

static neo_expr less(const ring *r, neo_expr a, neo_expr b) {
  return neo_op2(r->o->m, NEO_OP_SUB, a, b);
}

static void need_either(ring *r, int64_t in_place, int64_t apart) {
  r->n = in_place > r->n ? in_place : r->n;
  r->n_apart = apart > r->n_apart ? apart : r->n_apart;
}

static void need(ring *r, int64_t n) {
  need_either(r, n, n);
}

static neo_expr extent_of(const ring *r) {
  return neo_tensor_extent(r->o->m, r->tensor, r->member->axis);
}

/* ---- reads */

/* How many rounds of the loop lie between two, if it is a constant. */
static bool rounds_between(const outliner *o, const neo_order_step *loop, neo_expr first,
                           neo_expr later, int64_t *rounds) {
  return loop->down ? outline_distance(o, first, later, rounds)
                    : outline_distance(o, later, first, rounds);
}

/* How many rounds before that of x, which reads it, the member computed its element `at`. */
static bool reach_of(const outliner *o, const neo_order_step *loop, const neo_order_member *member,
                     const outline_instance *x, neo_expr at, int64_t *rounds) {
  uint32_t axis = outline_member(loop, x->def)->axis;
  neo_expr by[OUTLINE_AXES] = {{0}};
  if (!x->fixed[axis]) { /* the only one of its rounds */
    by[axis] = outline_number(o, 0);
    at = neo_expr_subst_axes(o->m, at, by, axis + 1);
  }
  neo_expr made = neo_op2(o->m, NEO_OP_ADD, at, outline_number(o, member->delay));
  return rounds_between(o, loop, made, x->round, rounds) && *rounds >= 0;
}

static bool reach(const ring *r, neo_expr at, int64_t *rounds) {
  return reach_of(r->o, r->order, r->member, r->x, at, rounds);
}

/* The same of a definition behind all loops, which are of as many rounds as the tensor has positions. */
static bool reach_from_end(const ring *r, neo_expr at, int64_t *rounds) {
  const outliner *o = r->o;
  neo_expr last = less(r, extent_of(r), outline_number(o, 1));
  bool constant = r->down ? outline_distance(o, at, outline_number(o, 0), rounds)
                          : outline_distance(o, last, at, rounds);
  return constant && *rounds >= 0;
}

/* A sum over an equation of data may be added up where its result lies (codegen/lower/segment), before its end reads
 * anything. */
static bool adds_in_memory(const ring *r) {
  neo_expr where = r->x->rec.where;
  return where.i && neo_expr_uses_op(r->o->m, where, NEO_OP_EQ);
}

/* Is it read for the element of the same position in the round at hand, before that is written? */
static bool is_own(const ring *r, neo_expr read) {
  const outliner *o = r->o;
  const outline_instance *x = r->x;
  bool own = outline_makes(r->o, x, r->tensor.i) && !adds_in_memory(r);
  for (uint32_t k = 0; k < x->rec.n_out && own; k++) {
    int64_t d;
    neo_expr at = neo_axis_ref(o->m, k);
    if (k == r->member->axis)
      continue;
    if (x->base[k].i)
      at = x->fixed[k] ? x->base[k] : neo_op2(o->m, NEO_OP_ADD, x->base[k], at);
    own = outline_distance(o, neo_expr_arg(o->m, read, k), at, &d) && d == 0;
  }
  return own;
}

static void look(void *ctx, neo_expr read, uint32_t n_axes) {
  ring *r = ctx;
  int64_t rounds = 0;
  (void)n_axes;
  if (neo_expr_node(r->o->m, read)->attr != r->tensor.i || !r->good)
    return;
  neo_expr at = neo_expr_arg(r->o->m, read, r->member->axis);
  if (!r->x->rounds) /* behind the loops */
    r->good = reach_from_end(r, at, &rounds);
  else if (r->x->rounds == 1)
    r->good = reach(r, at, &rounds);
  else
    r->good = !r->behind; /* all that was computed before is there */
  bool in_round = r->x->rounds == 1;
  r->reads_round = r->reads_round || (in_round && rounds == 0);
  need_either(r, in_round && rounds && is_own(r, read) ? rounds : rounds + 1, rounds + 1);
}

/* ---- definitions */

/* The rounds that an instance computes at once must lie one behind the other in the ring. */
static void look_made(ring *r, const outline_instance *x) {
  int64_t first;
  if (x->rounds == 1)
    return;
  bool from_start = neo_expr_is_int(r->o->m, x->base[r->member->axis], &first) && first >= 0;
  r->good = r->good && x->rounds > 1 && from_start && !r->down && !r->behind;
  need(r, from_start ? first + x->rounds : 0);
}

static void look_leaf(ring *r, outline_instance *x, bool outermost) {
  r->x = x;
  if (outline_makes(r->o, x, r->tensor.i)) {
    look_made(r, x);
    r->head += outermost && !r->behind ? x->rounds : 0;
  }
  outline_reads(r->o, x, look, r);
}

/* outermost: it is in no band. */
static void look_tree(ring *r, const neo_tree *t, bool outermost) {
  if (t->kind == NEO_TREE_LEAF)
    look_leaf(r, outline_at(r->o, t), outermost);
  bool band = t->kind == NEO_TREE_BAND;
  r->behind = r->behind || band;
  for (size_t k = 0; k < t->children.n && r->good; k++)
    look_tree(r, t->children.at[k], outermost && !band);
}

/* ---- tensors */

static bool is_longer(const ring *r) {
  neo_facts none = {0};
  int64_t lo, hi;
  return neo_interval(r->o->p, &none, extent_of(r), &lo, &hi) && hi > r->n;
}

static neo_tensor ring_tensor(const outliner *o, neo_tensor of, const outline_ring *folds) {
  neo_module *m = o->m;
  neo_tensor_rec t = *neo_tensor_at(m, of);
  uint32_t extent[64];
  for (uint32_t k = 0; k < t.extent.n; k++)
    extent[k] = neo_list_at(m, t.extent, k);
  for (uint32_t k = 0; k < folds->n_folds; k++)
    extent[folds->fold[k].axis] = outline_number(o, folds->fold[k].n).i;
  t.extent = neo_list_new(m, extent, t.extent.n);
  neo_element_ends_drop(&t);
  t.pieces = (neo_list){0};
  t.name = neo_tensor_fresh_name(m, "ring", neo_name_text(m->names, t.name));
  return neo_tensor_add(m, t);
}

static bool is_lead(const outliner *o, neo_def d) {
  for (size_t k = 0; k < o->n_lead && o->lead_rounds; k++)
    if (o->lead[k].i == d.i)
      return true;
  return false;
}

/* Along the outermost loop, and those in it. What is in place of the element that it is computed of is folded along the
 * outermost one alone. */
static void find_folds(ring *r, const neo_tree *tree, neo_def d, outline_ring *out) {
  bool lead = is_lead(r->o, d);
  if (lead) {
    r->n = r->o->lead_rounds;
  } else {
    look_tree(r, tree, true);
    need(r, r->head);
  }
  outline_ring inner = *out;
  if (!lead)
    outline_fold_inner(r->o, tree, r->order, r->tensor, &inner);
  r->n = !lead && (r->reads_round || inner.n_folds) ? r->n_apart : r->n;
  if (r->good && is_longer(r)) {
    out->fold[0].n = r->n;
    out->n_folds = 1;
  }
  for (uint32_t k = 0; k < inner.n_folds && out->n_folds < OUTLINE_FOLDS; k++)
    out->fold[out->n_folds++] = inner.fold[k];
}

static void find_ring(outliner *o, const neo_tree *tree, const neo_order_step *order,
                      neo_tensor t) {
  const neo_tensor_rec *rec = neo_tensor_at(o->m, t);
  ring r = {
      .o = o, .order = order, .tensor = t, .down = order->down, .good = true, .n = 1, .n_apart = 1};
  if (o->stored[t.i] || rec->role != NEO_ROLE_TEMP || rec->pieces.n != 1)
    return;
  neo_def d = {neo_list_at(o->m, rec->pieces, 0)};
  r.member = outline_member(order, d);
  if (!r.member || neo_def_at(o->m, d)->out_map.n)
    return;
  outline_ring out = {.order = order, .fold = {{r.member->axis, 0, order}}};
  out.levels = outline_has_level_ring(o, tree, order, t, r.member);
  if (!out.levels)
    find_folds(&r, tree, d, &out);
  if (out.levels || out.n_folds) {
    out.tensor = ring_tensor(o, t, &out);
    o->ring[t.i] = out;
  }
}

void outline_rings(outliner *o, const neo_tree *t, const neo_order_step *order) {
  for (size_t k = 0; k < o->n; k++) {
    neo_list out = neo_def_at(o->m, o->defs[k])->out;
    for (uint32_t i = 0; i < out.n; i++)
      if (neo_list_at(o->m, out, i) < o->n_tensors)
        find_ring(o, t, order, (neo_tensor){neo_list_at(o->m, out, i)});
  }
}

void outline_set_slices(outliner *o, neo_tensor t, const neo_order_step *loop, int64_t n) {
  outline_ring *r = &o->ring[t.i];
  bool changed = false;
  for (uint32_t k = 0; k < r->n_folds; k++)
    if (r->fold[k].order == loop && r->fold[k].n != n) {
      r->fold[k].n = n;
      changed = true;
    }
  if (changed)
    r->tensor = ring_tensor(o, t, r);
}

/* The stores of what lies in circular buffers. Where rows of a level lie is no matter of the row alone. */
void outline_add_stores(outliner *o) {
  neo_module *m = o->m;
  for (uint32_t t = 1; t < o->n_tensors; t++) {
    const outline_ring *r = &o->ring[t];
    neo_store s = {.tensor = {t}, .scope = o->out->tree.root};
    if (!r->n_folds)
      continue;
    s.rank = neo_tensor_rank(m, s.tensor);
    neo_expr *at = NEO_NEW_ARRAY(o->a, neo_expr, s.rank + 1);
    neo_expr *extent = NEO_NEW_ARRAY(o->a, neo_expr, s.rank + 1);
    for (uint32_t k = 0; k < s.rank; k++) {
      extent[k] = neo_tensor_extent(m, r->tensor, k);
      at[k] = neo_axis_ref(m, k);
    }
    for (uint32_t k = 0; k < r->n_folds; k++) {
      uint32_t axis = r->fold[k].axis;
      at[axis] = neo_op2(m, NEO_OP_MOD, at[axis], extent[axis]);
    }
    s.at = at;
    s.extent = extent;
    NEO_PUSH(o->a, &o->out->tree.stores, s);
  }
}

/* ---- what is overwritten */

typedef struct {
  const outliner *o;
  const neo_order_step *order; /* the outermost loop, along which there are n slices */
  int64_t n;
  uint32_t tensor;
  const neo_order_member *member; /* which makes it */
  const outline_instance *reader;
  int64_t later; /* rounds after that of the reader, in which it is written */
  bool is;
} overwrite_look;

static void look_overwritten(void *ctx, neo_expr read, uint32_t n_axes) {
  overwrite_look *l = ctx;
  int64_t rounds;
  (void)n_axes;
  if (neo_expr_node(l->o->m, read)->attr != l->tensor)
    return;
  neo_expr at = neo_expr_arg(l->o->m, read, l->member->axis);
  l->is = l->is || !reach_of(l->o, l->order, l->member, l->reader, at, &rounds) ||
          rounds + l->later >= l->n;
}

static bool overwrites(const outliner *o, const outline_instance *x, const outline_instance *p,
                       uint32_t tensor) {
  const outline_ring *r = &o->ring[tensor];
  int64_t n = outline_slices(r, r->order);
  if (!r->n_folds)
    return false;
  overwrite_look l = {o, r->order, n, tensor, outline_member(r->order, x->def), p, 0, false};
  if (!rounds_between(o, r->order, p->round, x->round, &l.later))
    return true;
  if (!l.later && outline_overwrites_inner(o, r, tensor, x, p))
    return true;
  if (!n || (p != x && p->def.i == x->def.i && !l.later)) /* parts of a round have own elements */
    return false;
  outline_reads(o, p, look_overwritten, &l);
  return l.is || (l.later >= n && outline_makes(o, p, tensor));
}

bool outline_overwrites(const outliner *o, const outline_instance *x, const outline_instance *p) {
  bool is = false;
  if (x->rounds != 1 || p->rounds != 1) /* a ring has all rounds that are made at once */
    return false;
  for (uint32_t k = 0; k < x->rec.out.n && !is; k++)
    is = overwrites(o, x, p, neo_list_at(o->m, x->rec.out, k));
  return is;
}
