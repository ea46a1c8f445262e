/* Segments: adjacent instances that run in the same iterations. An instance joins the open segment
 * if its reads of it are slices, and begins another one if it may read the segment's results
 * otherwise.
 *
 * In a segment a value is computed where and as often as that pays, without an order between its
 * loads and stores. So no instance of it writes where another one reads, and an instance that
 * overwrites its operand element by element (fold.c) has no readers there. */
#include "fusion/recurrence/internal.h"

/* ---- the open segment */

typedef struct {
  outliner *o;
  bool write;        /* second walk: all stored tensors are known */
  outline_open open; /* instances of the open segment; empty: none is open */
  neo_tree_leaf leaf;
  neo_map copies; /* a tensor in memory -> its copy in the segment */
} segmenter;

typedef struct {
  segmenter *s;
  const outline_instance *x;
  bool unknown;
} segment_look;

static void look_unknown(void *ctx, neo_expr read, uint32_t n_axes) {
  segment_look *l = ctx;
  int from = outline_producer(l->s->o, &l->s->open, l->x, n_axes, read);
  if (from == OUTLINE_UNKNOWN)
    l->unknown = true;
  else if (from >= 0 && outline_overwrites(l->s->o, l->s->open.at[from], l->s->open.at[from]))
    l->unknown = true;
}

static void look_stored(void *ctx, neo_expr read, uint32_t n_axes) {
  segment_look *l = ctx;
  const outliner *o = l->s->o;
  if (outline_producer(o, &l->s->open, l->x, n_axes, read) < 0)
    o->stored[neo_expr_node(o->m, read)->attr] = true;
}

typedef struct {
  const segmenter *s;
  bool is;
} open_look;

static void look_open(void *ctx, neo_expr e) {
  open_look *l = ctx;
  const neo_node *n = neo_expr_node(l->s->o->m, e);
  for (size_t k = 0; k < l->s->open.n && n->op == NEO_OP_LOAD; k++)
    l->is = l->is || outline_makes(l->s->o, l->s->open.at[k], n->attr);
}

/* Kernels read elements of conditions from memory: may these be results of the open segment? */
static bool asks_open(const segmenter *s, const outline_instance *x) {
  open_look l = {s, false};
  for (size_t k = 0; k < x->needed.n; k++)
    neo_expr_visit(s->o->m, x->needed.at[k], look_open, &l);
  return l.is;
}

static bool joins(segmenter *s, const outline_instance *x) {
  segment_look l = {s, x, false};
  if (!s->open.n || s->open.at[0]->when.i != x->when.i || s->open.at[0]->always != x->always)
    return false;
  for (size_t k = 0; k < s->open.n; k++)
    if (outline_overwrites(s->o, x, s->open.at[k]))
      return false;
  outline_reads(s->o, x, look_unknown, &l);
  return !l.unknown && !asks_open(s, x);
}

/* The positions of the instance, by output axis. */
static neo_instance instance_of(const outliner *o, const outline_instance *x) {
  neo_expr *lo = NEO_NEW_ARRAY(o->a, neo_expr, x->rec.n_out + 1);
  neo_expr *hi = NEO_NEW_ARRAY(o->a, neo_expr, x->rec.n_out + 1);
  for (uint32_t k = 0; k < x->rec.n_out; k++) {
    bool part = x->fixed[k] || x->extent[k].i;
    lo[k] = part && !x->base[k].i ? outline_number(o, 0) : x->base[k];
    if (part && !x->fixed[k])
      hi[k] = neo_op2(o->m, NEO_OP_ADD, lo[k], x->extent[k]);
  }
  return (neo_instance){x->def, lo, hi};
}

static void close_segment(segmenter *s, neo_trees *to) {
  if (!s->open.n)
    return;
  const outline_instance *x = s->open.at[0];
  for (size_t k = 0; k < s->open.n && s->write; k++)
    if (!s->open.at[k]->added)
      NEO_PUSH(s->o->a, &s->leaf.instances, instance_of(s->o, s->open.at[k]));
  const neo_tree *t = neo_tree_of_leaf(s->o->a, s->leaf);
  if (x->when.i)
    t = neo_tree_guard(s->o->a, x->when, t);
  NEO_PUSH(s->o->a, to, t);
  s->open.n = 0;
}

static void add_instance(segmenter *s, neo_trees *to, outline_instance *x) {
  segment_look l = {s, x, false};
  neo_recurrence *out = s->o->out;
  if (!joins(s, x)) {
    close_segment(s, to);
    s->leaf = (neo_tree_leaf){.number = (uint32_t)out->segments.n};
    NEO_PUSH(s->o->a, &out->segments, (neo_recurrence_segment){.always = x->always});
  }
  if (s->write)
    outline_write(s->o, &out->segments.at[s->leaf.number], &s->open, x, &s->copies);
  else
    outline_reads(s->o, x, look_stored, &l);
  NEO_PUSH(s->o->a, &s->open, x);
}

static void add_tree(segmenter *s, neo_trees *to, const neo_tree *t);

static void add_band(segmenter *s, neo_trees *to, const neo_tree *t) {
  neo_trees in = {0};
  if (t->band.rows.first.i)
    outline_add_read(s->o, t->band.rows.first);
  close_segment(s, to);
  add_tree(s, &in, t->children.at[0]);
  close_segment(s, &in);
  outline_push_band(s->o, to, t->band, &in);
}

static void add_guard(segmenter *s, neo_trees *to, const neo_tree *t) {
  neo_trees in = {0};
  close_segment(s, to);
  add_tree(s, &in, t->children.at[0]);
  close_segment(s, &in);
  NEO_PUSH(s->o->a, to, neo_tree_guard(s->o->a, t->condition, neo_tree_sequence(s->o->a, &in)));
}

static void add_tree(segmenter *s, neo_trees *to, const neo_tree *t) {
  if (t->kind == NEO_TREE_LEAF)
    add_instance(s, to, outline_at(s->o, t));
  else if (t->kind == NEO_TREE_BAND)
    add_band(s, to, t);
  else if (t->kind == NEO_TREE_GUARD)
    add_guard(s, to, t);
  else if (t->kind == NEO_TREE_EXIT)
    NEO_PUSH(s->o->a, to, t);
  else
    for (size_t k = 0; k < t->children.n; k++)
      add_tree(s, to, t->children.at[k]);
}

const neo_tree *outline_segments(outliner *o, const neo_tree *from) {
  neo_trees out = {0};
  segmenter s = {.o = o};
  neo_map_init(&s.copies, o->a);
  for (int walk = 0; walk < 2; walk++) {
    s.write = walk == 1;
    o->out->segments.n = out.n = 0;
    add_tree(&s, &out, from);
    close_segment(&s, &out);
  }
  return neo_tree_sequence(o->a, &out);
}
