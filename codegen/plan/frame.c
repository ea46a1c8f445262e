/* The memory of an entry's tensors: the caller's, the context's, that of an operand or of an old
 * version without further readers, or the frame, whose offsets are planned from the lifetimes of
 * tensors. */
#include "codegen/plan/internal.h"
#include "codegen/plan/planner.h"
#include <assert.h>

enum { SMALL_BYTES = 64 << 10 }; /* small: of a GPU's buffers */

typedef struct {
  neo_module *m;
  neo_tensor old;
  uint32_t n_out;
  bool good;
} same_ctx;

static void same_visit(void *ctx, neo_expr e) {
  same_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (!neo_node_is_load(n) || n->attr != c->old.i)
    return;
  uint32_t rank = neo_tensor_rank(c->m, c->old);
  c->good = c->good && n->op == NEO_OP_LOAD && rank == c->n_out;
  for (uint32_t k = 0; c->good && k < rank; k++)
    c->good = neo_list_at(c->m, n->arg, k) == neo_axis_ref(c->m, k).i;
}

/* Are all reads of `old` in group g at the element that is being written, with nothing but
 * elementwise work between? What an inlined member makes of it counts as `old` itself. */
static bool same_element_only(planner *q, const neo_group *g, neo_tensor old) {
  for (size_t k = 0; k < g->members.n; k++) {
    const neo_def_rec *d = neo_def_at(q->m, g->members.at[k].def);
    same_ctx c = {q->m, old, d->n_out, true};
    neo_def_visit(q->m, g->members.at[k].def, same_visit, &c);
    if (!c.good)
      return false;
    bool touches = false;
    neo_tensor *in;
    size_t n = neo_def_reads(q->m, g->members.at[k].def, q->scratch, &in);
    for (size_t i = 0; i < n; i++)
      touches = touches || in[i].i == old.i;
    if (touches && (d->reducer != NEO_RED_NONE || d->out_map.n))
      return false;
    for (uint32_t i = 0; touches && g->members.at[k].place == NEO_PLACE_INLINE && i < d->out.n; i++)
      if (!same_element_only(q, g, neo_list_tensor(q->m, d->out, i)))
        return false;
  }
  return true;
}

/* The k-th group of the order writes update u: may it go straight into the old version's place? */
static bool in_place(planner *q, size_t at, neo_tensor u) {
  neo_tensor old = replaced(q, u);
  uint64_t last = 0;
  if (is_output(q, u) || !is_update(q, u) || neo_tensor_at(q->m, u)->pieces.n != 1 ||
      !neo_group_has_form(group_at(
          q, at))) /* later iterations may read elements that earlier ones would have replaced */
    return false;
  if (neo_map_get(&q->last_read, old.i, &last) && last > at)
    return false;
  return same_element_only(q, group_at(q, at), old);
}

/* The last step that reads or writes the tensor; a number after all steps for tensors that are
 * copied at the end. */
static uint64_t last_use(const planner *q, neo_tensor t) {
  uint64_t read = 0, write = 0;
  neo_map_get(&q->last_read, t.i, &read);
  neo_map_get(&q->last_write, t.i, &write);
  if (is_update(q, t) || is_output(q, t)) /* copied back, or to the caller, at the end */
    return q->order.n;
  return read > write ? read : write;
}

static void add_item(planner *q, neo_tensor t, uint64_t first, uint64_t last) {
  neo_dsa_item it = {.size_bytes = plan_store_max_bytes(q->env->store, t),
                     .align_bytes = NEO_RT_ALIGN_BYTES,
                     .first = (int64_t)first,
                     .last = (int64_t)last,
                     .fixed = NEO_DSA_FREE};
  neo_map_set(&q->item_of, t.i, q->items.n);
  NEO_PUSH(q->scratch, &q->items, it);
  NEO_PUSH(q->scratch, &q->item_bytes, plan_places_bytes(q->env->store, t));
  NEO_PUSH(q->scratch, &q->item_tensor, t);
  NEO_PUSH(q->scratch, &q->item_when, conditions_at(q, (size_t)first));
  NEO_PUSH(q->scratch, &q->item_lives, (plan_lives){0});
}

/* The tensor has the memory of an item, which has room for it at all sizes. */
static void share_item(planner *q, neo_tensor t, size_t item) {
  neo_expr own = plan_places_bytes(q->env->store, t), *has = &q->item_bytes.at[item];
  if (own.i != has->i)
    *has = neo_op2(q->m, NEO_OP_MAX, *has, own);
  neo_map_set(&q->item_of, t.i, item);
}

/* May the tensor be written over the operand that its group names: has every reader of that run? */
static bool lies_over(const planner *q, size_t at, neo_tensor t) {
  neo_tensor old = group_at(q, at)->over;
  uint64_t item = 0;
  int32_t buf;
  if (!old.i || role_of(q, t) != NEO_ROLE_TEMP || is_output(q, old) || is_update(q, old) ||
      has_buf(q, old, &buf) || !neo_map_get(&q->item_of, old.i, &item))
    return false;
  return q->items.at[item].last == (int64_t)at && last_use(q, old) == at &&
         q->item_bytes.at[item].i == plan_places_bytes(q->env->store, t).i;
}

static void take_over(planner *q, neo_tensor t, neo_tensor old) {
  uint64_t item = 0;
  bool has = neo_map_get(&q->item_of, old.i, &item);
  assert(has && "it lies over what has memory");
  (void)has;
  q->items.at[item].last = (int64_t)last_use(q, t);
  q->item_lives.at[item].n = 0;
  share_item(q, t, (size_t)item);
  NEO_PUSH(q->scratch, &q->in_place, t);
}

static void place_with(planner *q, size_t at, neo_tensor t, neo_tensor top) {
  int32_t buf;
  uint64_t item = 0;
  if (has_buf(q, t, &buf) || neo_map_get(&q->item_of, t.i, NULL))
    return;
  if (has_buf(q, top, &buf)) {
    set_buf(q, t, buf);
    return;
  }
  if (!neo_map_get(&q->item_of, top.i, NULL))
    add_item(q, top, at, last_use(q, top));
  neo_map_get(&q->item_of, top.i, &item);
  if (!q->taken[at])
    NEO_PUSH(q->scratch, &q->item_lives.at[item],
             ((plan_life){conditions_at(q, at), (int64_t)at, 0}));
  if ((int64_t)last_use(q, t) > q->items.at[item].last)
    q->items.at[item].last = (int64_t)last_use(q, t);
  share_item(q, t, (size_t)item);
  NEO_PUSH(q->scratch, &q->in_place, t);
}

/* Roots written at step `at`: caller's memory, in place, or a frame item from the first piece on.
 */
static void place_root(planner *q, size_t at, neo_tensor t) {
  int32_t buf;
  neo_tensor top = place_of(q, t);
  if (top.i != t.i) {
    place_with(q, at, t, top);
    return;
  }
  if (has_buf(q, t, &buf) || neo_map_get(&q->item_of, t.i, NULL))
    return;
  if (group_at(q, at)->cached) {
    (void)plan_cached_group(q->env, q->order.at[at]);
    if (plan_cached_buf(q->env->store, group_at(q, at)->entry, t, &buf))
      set_buf(q, t, buf);
    return;
  }
  if (role_of(q, t) == NEO_ROLE_UPDATE && in_place(q, at, t) && has_buf(q, replaced(q, t), &buf)) {
    set_buf(q, t, buf);
    return;
  }
  if (lies_over(q, at, t))
    take_over(q, t, group_at(q, at)->over);
  else
    add_item(q, t, at, last_use(q, t));
}

/* Adds items for the tensors that only the kernels of a recurrence use; they live while it runs. */
static void place_between(planner *q, size_t at) {
  const neo_plan_tree *tree = tree_at(q, at);
  for (size_t k = 0; k < tree->marks.n; k++) {
    const neo_plan_mark *x = &tree->marks.at[k];
    int32_t buf;
    for (size_t b = 0; b < x->tensors.n; b++) {
      neo_tensor t = x->tensors.at[b];
      if (!has_buf(q, t, &buf) && !neo_map_get(&q->item_of, t.i, NULL))
        add_item(q, t, at, at);
    }
  }
}

static bool is_stored(const planner *q, neo_tensor t) {
  for (size_t i = 0; i < q->order.n; i++)
    for (size_t k = 0; group_at(q, i)->cached && k < group_at(q, i)->roots.n; k++)
      if (group_at(q, i)->roots.at[k].i == t.i)
        return true;
  return false;
}

/* A computed output is written to the caller's memory of its first name. Outputs that live in the
 * context are copied. */
void plan_bind_outputs(planner *q) {
  const char *entry = q->entry ? neo_name_text(q->m->names, q->entry->name) : "";
  q->output = NEO_NEW_ARRAY(q->scratch, int32_t, n_outputs(q) + 1);
  for (uint32_t k = 0; k < n_outputs(q); k++) {
    neo_tensor t = output_at(q, k);
    uint32_t name = neo_list_at(q->m, q->entry->names, k);
    int32_t buf;
    q->output[k] = plan_store_output(q->env->store, entry, name, t, q->output, k);
    if (role_of(q, t) == NEO_ROLE_TEMP && !has_buf(q, t, &buf) && !is_stored(q, t))
      set_buf(q, t, q->p->tensors.at[q->output[k]].buf);
  }
}

static void find_lifetimes(planner *q) {
  for (size_t i = 0; i < q->order.n; i++) {
    const neo_group *g = group_at(q, i);
    for (size_t k = 0; k < g->reads.n; k++)
      neo_map_set(&q->last_read, g->reads.at[k].i, i);
    for (size_t k = 0; k < g->roots.n; k++)
      neo_map_set(&q->last_write, g->roots.at[k].i, i);
  }
}

/* On a GPU small values get memory of their own, not reused over time: reuse would order kernels
 * that are otherwise independent and may run concurrently. */
static void spread_small(planner *q) {
  enum { ALL_BYTES = 4 << 20 };
  int64_t total = 0;
  for (size_t k = 0; k < q->items.n; k++) {
    neo_dsa_item *it = &q->items.at[k];
    if (it->size_bytes > SMALL_BYTES || total + it->size_bytes > ALL_BYTES)
      continue;
    total += it->size_bytes;
    it->first = 0;
    it->last = (int64_t)q->order.n;
  }
}

/* Adds the entry's places at the sizes of calls. On a GPU, buffers that the plan separates stay
 * separate, because kernels that share no bytes run concurrently (phases.h). */
static void add_places(planner *q, const int32_t *buf, neo_rt_entry *e) {
  plan_frame_items f = {q->items.at, q->item_bytes.at, buf, q->items.n, q->env->in->gpu};
  plan_places_add(q->p, q->scratch, &f, e);
}

/* Intersects the conditions of t's item with `when`: those under which all of its tensors are
 * written remain. */
static void intersect_when(planner *q, neo_tensor t, const neo_conditions *when) {
  uint64_t item;
  if (!neo_map_get(&q->item_of, t.i, &item))
    return;
  neo_conditions *of = &q->item_when.at[item];
  neo_expr *at = NEO_NEW_ARRAY(q->scratch, neo_expr, of->n + 1);
  uint32_t n = 0;
  for (uint32_t k = 0; k < of->n; k++) {
    neo_conditions one = {1, &of->at[k]};
    if (neo_conditions_imply(q->m, when, &one))
      at[n++] = of->at[k];
  }
  *of = (neo_conditions){n, at};
}

static void written_always(planner *q, neo_tensor t) {
  uint64_t item;
  if (neo_map_get(&q->item_of, t.i, &item))
    q->item_when.at[item].n = 0, q->item_lives.at[item].n = 0;
}

static void note_condition(void *ctx, neo_expr e) {
  planner *q = ctx;
  const neo_node *n = neo_expr_node(q->m, e);
  if (n->op == NEO_OP_LOAD)
    written_always(q, (neo_tensor){n->attr});
}

/* Notes the tensors that the recurrence's segments write where its conditions fail, too. */
static void note_segments(planner *q, const neo_recurrence *r) {
  for (size_t k = 0; r && k < r->segments.n; k++)
    for (size_t i = 0; r->segments.at[k].always && i < r->segments.at[k].roots.n; i++)
      written_always(q, neo_recurrence_slice(r, r->segments.at[k].roots.at[i])->whole);
}

/* Finds the conditions under which each item is written. Tensors in conditions of kernels count as
 * always written: all kernels must read the same value there, even if no kernel has written it. */
static void join_conditions(planner *q) {
  for (size_t i = 0; i < q->order.n; i++) {
    const neo_group *g = group_at(q, i);
    neo_conditions when = conditions_at(q, i);
    for (size_t k = 0; k < g->roots.n && !q->taken[i]; k++)
      intersect_when(q, g->roots.at[k], &when);
    note_segments(q, g->recurrence);
    for (size_t k = 0; k < g->when.n; k++)
      neo_expr_visit(q->m, g->when.at[k], note_condition, q);
  }
}

/* The lifetimes of each item with their conditions: the results of a `case`'s branches live in
 * different calls, each from the step of its branch on. */
static const plan_lives *lives_of_items(planner *q) {
  for (size_t k = 0; k < q->items.n; k++) {
    const neo_dsa_item *it = &q->items.at[k];
    plan_lives *l = &q->item_lives.at[k];
    if (!l->n)
      NEO_PUSH(q->scratch, l, ((plan_life){q->item_when.at[k], it->first, 0}));
    for (size_t i = 0; i < l->n; i++)
      l->at[i].last = it->last;
  }
  return q->item_lives.at;
}

static void share_exclusive(planner *q) {
  plan_exclusive x = {
      .item = q->items.at, .n = q->items.n, .least_bytes = q->env->in->gpu ? SMALL_BYTES : 0};
  q->item_into = NEO_NEW_ARRAY(q->scratch, size_t, q->items.n + 1);
  join_conditions(q);
  x.lives = lives_of_items(q);
  plan_share_exclusive(q->m, &x, q->item_into, q->scratch);
  for (size_t k = 0; k < q->items.n; k++) {
    neo_expr *bytes = &q->item_bytes.at[q->item_into[k]];
    if (q->item_into[k] != k && bytes->i != q->item_bytes.at[k].i)
      *bytes = neo_op2(q->m, NEO_OP_MAX, *bytes, q->item_bytes.at[k]);
  }
}

/* The first size_bytes of the buffer, at the largest sizes, as a buffer of another type. */
static int32_t store_view(plan_store *s, int32_t buf, neo_type type, int64_t size_bytes) {
  neo_rt_buf b = s->p->bufs.at[buf];
  if (b.type == (uint8_t)type && b.size_bytes == size_bytes)
    return buf;
  b.type = (uint8_t)type;
  b.size_bytes = size_bytes;
  b.place = 0;
  NEO_PUSH(s->p->arena, &s->p->bufs, b);
  return (int32_t)s->p->bufs.n - 1;
}

/* The buffers of items, once they have offsets. */
static int32_t *item_buffers(planner *q) {
  int32_t *buf = NEO_NEW_ARRAY(q->scratch, int32_t, q->items.n + 1);
  for (int shared = 0; shared < 2; shared++)
    for (size_t k = 0; k < q->items.n; k++) {
      neo_tensor t = q->item_tensor.at[k];
      neo_type type = neo_tensor_type(q->m, t);
      if ((q->item_into[k] != k) != shared)
        continue;
      buf[k] = shared ? store_view(q->env->store, buf[q->item_into[k]], type,
                                   plan_store_max_bytes(q->env->store, t))
                      : plan_store_buf(q->env->store, NEO_RT_MEM_FRAME, type, q->items.at[k].offset,
                                       q->items.at[k].size_bytes);
      set_buf(q, t, buf[k]);
    }
  return buf;
}

static void place_all(planner *q) {
  find_lifetimes(q);
  plan_find_choices(q);
  for (size_t i = 0; i < q->order.n; i++)
    for (size_t k = 0; k < group_at(q, i)->roots.n; k++)
      place_root(q, i, group_at(q, i)->roots.at[k]);
  for (size_t i = 0; i < q->order.n; i++)
    place_between(q, i);
  share_exclusive(q);
  if (q->env->in->gpu)
    spread_small(q);
}

int64_t plan_frame_bound(planner *q) {
  place_all(q);
  return neo_dsa_plan(q->items.at, q->items.n, 0, q->scratch).bound_bytes;
}

void plan_frame(planner *q, neo_rt_entry *e) {
  place_all(q);
  neo_dsa_result r =
      neo_dsa_plan(q->items.at, q->items.n, neo_dsa_compile_budget(q->items.n), q->scratch);
  e->frame_bytes = r.peak_bytes;
  e->lower_bound_bytes = r.bound_bytes;
  add_places(q, item_buffers(q), e);
  for (size_t k = 0; k < q->in_place.n; k++) {
    uint64_t item = 0;
    int32_t buf = -1;
    neo_map_get(&q->item_of, q->in_place.at[k].i, &item);
    if (has_buf(q, q->item_tensor.at[item], &buf))
      set_buf(q, q->in_place.at[k], buf);
  }
  if (e->frame_bytes > q->p->frame_bytes)
    q->p->frame_bytes = e->frame_bytes;
}
