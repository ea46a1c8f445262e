/* The reference meaning of a schedule tree: it runs literally. An instance is a frame of its
 * definition whose output axes run over the instance's positions. A cell knows the element that it
 * holds, and holds none once the node runs that its store's memory is there for: a read that finds
 * another element, or none, fails.
 *
 *   band t in 0..T                h[t] is written to cell t % 2 of the store, as element t;
 *     leaf h[t]                   its read of h[t - 1] finds element t - 1 in cell (t - 1) % 2
 *   store h [2] at [t % 2] */
#include "ir/interp/parts.h"
#include <string.h>

enum { MOST_BANDS = NEO_INTERP_AXES / 4 };
/* The frame of the tree's expressions has as AXIS k the index of band k, then the sizes of its
 * rows. */
enum { BEGIN = MOST_BANDS, END = 2 * MOST_BANDS };

typedef struct {
  neo_interp_frame *frame;
  uint32_t lo[NEO_INTERP_AXES], hi[NEO_INTERP_AXES]; /* nodes; 0: none */
} instance_run;

typedef struct node_run node_run;
struct node_run {
  const neo_tree *of;
  NEO_VEC(node_run *) children;
  NEO_VEC(instance_run) instances;
  NEO_VEC(neo_interp_cells *) cells; /* emptied when it begins */
  uint32_t lo, hi, condition;        /* nodes */
};

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_interp_frame *frames, bands; /* bands: of the tree's expressions */
  const neo_schedule_tree *tree;
  neo_map frame_of; /* definition -> its frame, + 1 */
  neo_map slot;     /* size of a band -> AXIS of `bands` */
  NEO_VEC(uint32_t) made;
  bool left; /* an exit was taken and its band not yet completed */
} runner;

/* ---- the tree's expressions */

static neo_expr with_slots(void *ctx, neo_module *m, neo_expr e) {
  const runner *r = ctx;
  const neo_node *n = neo_expr_node(m, e);
  uint64_t slot;
  return n->op == NEO_OP_SIZE && neo_map_get(&r->slot, n->attr, &slot)
             ? neo_axis_ref(m, (uint32_t)slot)
             : e;
}

static uint32_t expr_node(runner *r, neo_expr e) {
  return e.i ? neo_interp_frame_add(&r->bands, neo_expr_rewrite(r->m, e, with_slots, r)) : 0;
}

static int64_t value_of(runner *r, uint32_t node) {
  return neo_interp_frame_eval(&r->bands, node).i;
}

/* A condition may read elements that were made since it was evaluated last. */
static bool holds(runner *r, uint32_t condition) {
  neo_interp_frame_forget(&r->bands);
  return value_of(r, condition) != 0;
}

/* ---- compiling */

static void add_instances(runner *r, node_run *x) {
  for (size_t k = 0; k < x->of->leaf.instances.n; k++) {
    const neo_instance *from = &x->of->leaf.instances.at[k];
    uint64_t frame = 0;
    instance_run y = {0};
    (void)neo_map_get(&r->frame_of, from->def.i, &frame);
    assert(frame && "an instance is of a definition that has a frame");
    y.frame = &r->frames[frame - 1];
    for (uint32_t i = 0; i < y.frame->d.n_out; i++) {
      y.lo[i] = expr_node(r, from->lo[i]);
      y.hi[i] = expr_node(r, from->hi[i]);
    }
    NEO_PUSH(r->a, &x->instances, y);
  }
}

static void set_slots(runner *r, const neo_tree_band *b, uint32_t depth) {
  if (b->index.i)
    neo_map_set(&r->slot, b->index.i, depth);
  if (b->rows.first.i) {
    neo_map_set(&r->slot, b->rows.begin.i, BEGIN + depth);
    neo_map_set(&r->slot, b->rows.end.i, END + depth);
  }
}

static node_run *compile(runner *r, const neo_tree *t, uint32_t depth) {
  node_run *x = NEO_NEW(r->a, node_run);
  x->of = t;
  if (t->kind == NEO_TREE_LEAF)
    add_instances(r, x);
  if (t->kind == NEO_TREE_GUARD || t->kind == NEO_TREE_EXIT)
    x->condition = expr_node(r, t->condition);
  if (t->kind == NEO_TREE_BAND) {
    assert(depth < MOST_BANDS);
    x->lo = expr_node(r, t->band.lo);
    x->hi = expr_node(r, t->band.hi);
    set_slots(r, &t->band, depth);
  }
  for (size_t k = 0; k < t->children.n; k++) {
    node_run *child = compile(r, t->children.at[k], depth + (t->kind == NEO_TREE_BAND));
    NEO_PUSH(r->a, &x->children, child);
  }
  for (size_t k = 0; k < r->tree->stores.n; k++) {
    const neo_store *s = &r->tree->stores.at[k];
    neo_interp_cells *c = r->frames[0].store[s->tensor.i].cells;
    if (s->scope == t && c)
      NEO_PUSH(r->a, &x->cells, c);
  }
  return x;
}

/* ---- stores */

static const neo_store *store_of(const runner *r, uint32_t tensor) {
  for (size_t k = 0; k < r->tree->stores.n; k++)
    if (r->tree->stores.at[k].tensor.i == tensor)
      return &r->tree->stores.at[k];
  return NULL;
}

static void map_cells(runner *r, neo_interp_cells *c, const neo_store *s) {
  c->where = NEO_NEW(r->a, neo_interp_frame);
  *c->where = r->bands;
  memset(&c->where->node, 0, sizeof c->where->node);
  neo_interp_frame_prepare_exprs(c->where);
  c->rank = s->rank;
  c->n = 1;
  for (uint32_t k = 0; k < s->rank; k++) {
    c->at[k] = neo_interp_frame_add(c->where, s->at[k]);
    int64_t n = neo_interp_frame_eval(c->where, neo_interp_frame_add(c->where, s->extent[k])).i;
    c->extent[k] = n > 0 ? n : 0;
    c->n *= c->extent[k];
  }
}

static bool is_made(const runner *r, uint32_t def) {
  return neo_map_get(&r->frame_of, def, NULL);
}

/* Gives a tensor its own elements if other definitions, outside of the tree, make some of its
 * pieces. */
static void fill_shared(const runner *r, neo_interp_cells *c, uint32_t tensor) {
  neo_list pieces = neo_tensor_at(r->m, (neo_tensor){tensor})->pieces;
  bool shared = false;
  for (uint32_t k = 0; k < pieces.n; k++)
    shared = shared || !is_made(r, neo_list_at(r->m, pieces, k));
  for (int64_t k = 0; shared && k < c->n; k++)
    c->holds[k] = k + 1;
}

static void add_cells(runner *r, uint32_t tensor) {
  neo_interp_store *of = &r->frames[0].store[tensor];
  const neo_store *s = store_of(r, tensor);
  if (of->cells)
    return;
  of->cells = NEO_NEW(r->a, neo_interp_cells);
  *of->cells = (neo_interp_cells){.n = of->v.n, .v = of->v.at, .error = of->error};
  if (s) {
    map_cells(r, of->cells, s);
    of->cells->v = NEO_NEW_ARRAY(r->a, neo_value, of->cells->n + 1);
    of->cells->error = of->error ? NEO_NEW_ARRAY(r->a, double, of->cells->n + 1) : NULL;
  }
  of->cells->holds = NEO_NEW_ARRAY(r->a, int64_t, of->cells->n + 1);
  if (!s)
    fill_shared(r, of->cells, tensor);
  NEO_PUSH(r->a, &r->made, tensor);
}

/* ---- running */

static neo_status run_node(runner *r, node_run *x, uint32_t depth);

static neo_status run_children(runner *r, const node_run *x, uint32_t depth) {
  neo_status s = NEO_OK;
  for (size_t k = 0; k < x->children.n && !s && !r->left; k++)
    s = run_node(r, x->children.at[k], depth);
  return s;
}

static neo_status run_instance(runner *r, const instance_run *x) {
  neo_interp_frame *f = x->frame;
  for (uint32_t k = 0; k < f->d.n_out; k++) {
    f->from[k] = x->lo[k] ? value_of(r, x->lo[k]) : 0;
    f->to[k] = x->hi[k] ? value_of(r, x->hi[k]) : x->lo[k] ? f->from[k] + 1 : INT64_MAX;
  }
  neo_interp_frame_forget(f);
  neo_interp_frame_run_part(f);
  return f->status;
}

static int64_t first_row(const runner *r, const neo_tree_rows *rows, int64_t block) {
  const neo_values *v = &r->frames[0].store[rows->first.i].v;
  return block < v->n ? v->at[block].i : 0;
}

/* Narrows [lo, hi) to the blocks that have rows and, by the band's kind, to the wide blocks (up to
 * the last one with several rows) or to the serial blocks after them. */
static void take_range(const runner *r, const neo_tree_rows *rows, int64_t *lo, int64_t *hi) {
  int64_t end = *lo, wide = *lo;
  if (rows->range == NEO_BLOCKS_WHOLE)
    return;
  while (end < *hi && first_row(r, rows, end) < first_row(r, rows, *hi))
    end++;
  for (int64_t b = *lo; b < end; b++)
    wide = first_row(r, rows, b + 1) - first_row(r, rows, b) > 1 ? b + 1 : wide;
  if (rows->range != NEO_BLOCKS_ALL)
    *hi = end;
  if (rows->range == NEO_BLOCKS_WIDE)
    *hi = wide;
  if (rows->range == NEO_BLOCKS_SERIAL)
    *lo = wide;
}

static bool set_rows(runner *r, const neo_tree_rows *rows, uint32_t depth, int64_t at,
                     int64_t end) {
  int64_t first = first_row(r, rows, at), last = first_row(r, rows, end);
  neo_interp_frame_set_axis(&r->bands, BEGIN + depth, first);
  neo_interp_frame_set_axis(&r->bands, END + depth, last);
  return first < last;
}

static neo_status run_band(runner *r, const node_run *x, uint32_t depth) {
  const neo_tree_band *b = &x->of->band;
  int64_t lo = value_of(r, x->lo), hi = value_of(r, x->hi), n = 1;
  neo_status s = NEO_OK;
  if (b->rows.first.i)
    take_range(r, &b->rows, &lo, &hi);
  if (b->rows.range == NEO_BLOCKS_SERIAL || b->rows.range == NEO_BLOCKS_WHOLE)
    n = hi - lo;
  for (int64_t k = lo; k < hi && !s && !r->left; k += n) {
    int64_t at = b->down ? lo + hi - n - k : k;
    neo_interp_frame_set_axis(&r->bands, depth, at);
    if (!b->rows.first.i || set_rows(r, &b->rows, depth, at, at + n))
      s = run_children(r, x, depth + 1);
  }
  r->left = false;
  return s;
}

static neo_status run_node(runner *r, node_run *x, uint32_t depth) {
  neo_status s = NEO_OK;
  for (size_t k = 0; k < x->cells.n; k++)
    memset(x->cells.at[k]->holds, 0, (size_t)x->cells.at[k]->n * sizeof(int64_t));
  switch ((neo_tree_kind)x->of->kind) {
  case NEO_TREE_BAND:
    s = run_band(r, x, depth);
    break;
  case NEO_TREE_EXIT:
    r->left = !holds(r, x->condition);
    break;
  case NEO_TREE_GUARD:
    s = holds(r, x->condition) ? run_children(r, x, depth) : NEO_OK;
    break;
  case NEO_TREE_LEAF:
    for (size_t k = 0; k < x->instances.n && !s; k++)
      s = run_instance(r, &x->instances.at[k]);
    break;
  case NEO_TREE_SEQUENCE:
  case NEO_TREE_MARK:
    s = run_children(r, x, depth);
    break;
  }
  return s ? s : r->bands.status;
}

static void prepare(runner *r, const neo_def *defs, size_t n) {
  for (size_t k = 0; k < n; k++) {
    neo_interp_frame_prepare(&r->frames[k], defs[k]);
    neo_map_set(&r->frame_of, defs[k].i, k + 1);
  }
  for (size_t k = 0; k < n; k++)
    for (uint32_t i = 0; i < r->frames[k].d.out.n; i++)
      add_cells(r, neo_list_at(r->m, r->frames[k].d.out, i));
}

neo_status neo_interp_tree(neo_interp_frame *frames, const neo_def *defs, size_t n,
                           const neo_schedule_tree *t) {
  runner r = {.m = frames->m, .a = frames->arena, .frames = frames, .bands = *frames, .tree = t};
  neo_interp_frame_prepare_exprs(&r.bands);
  neo_map_init(&r.frame_of, r.a);
  neo_map_init(&r.slot, r.a);
  prepare(&r, defs, n);
  neo_status s = run_node(&r, compile(&r, t->root, 0), 0);
  for (size_t k = 0; k < r.made.n; k++)
    frames[0].store[r.made.at[k]].cells = NULL;
  return s;
}
