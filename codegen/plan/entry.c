/* The steps of one entry: the groups that its roots need (plan/order.c), then a buffer for every
 * tensor, with the frame's offsets planned from the steps' lifetimes.
 *
 * Order: copies of old values to the caller; the groups; copies of results that the caller wants
 * twice; copies of the updates that could not be written in place. */
#include "codegen/plan/exclusive.h"
#include "codegen/plan/internal.h"
#include "fusion/form.h"
#include "ir/choice.h"
#include <assert.h>

enum { FRAME_ALIGN = 64, SMALL_BYTES = 64 << 10 }; /* small: of a GPU's buffers */

typedef struct {
  const plan_entry_env *env;
  neo_plan *p;
  neo_module *m;
  neo_arena *scratch;
  const neo_entry_rec *entry; /* null: init */
  const neo_grouping *grouping;
  plan_groups order;
  int32_t *output;    /* of the entry's outputs: number in p->tensors */
  neo_map outputs;    /* tensors that the entry returns */
  neo_map updates;    /* tensors that take effect when it ends */
  neo_map last_read;  /* tensor -> last step that reads it */
  neo_map last_write; /* tensor -> last step that writes it */
  neo_map buf_of;     /* tensor -> buf in this entry */
  neo_map item_of;    /* tensor -> item */
  NEO_VEC(neo_dsa_item) items;
  NEO_VEC(neo_expr) item_bytes; /* at the sizes of a call */
  NEO_VEC(neo_tensor) item_tensor;
  NEO_VEC(neo_conditions) item_when; /* under which all that is in it is written */
  size_t *item_into;                 /* in whose place each is */
  neo_map same_place; /* tensor -> what takes it, or else another of which at most one is made */
  bool *taken;        /* by step: what its group takes is in its place already */
  NEO_VEC(neo_tensor) in_place; /* in the item of another one */
  int32_t *first_step; /* of each group of the order, from 0; behind them that of what follows */
  uint8_t depth;       /* loops around the steps that are added */
} planner;

static const neo_group *group_at(const planner *q, size_t step) {
  return &q->grouping->groups.at[q->order.at[step]];
}
static neo_role role_of(const planner *q, neo_tensor t) {
  return (neo_role)neo_tensor_at(q->m, t)->role;
}
static neo_tensor replaced(const planner *q, neo_tensor update) {
  return neo_tensor_at(q->m, update)->updates;
}

static bool is_update(const planner *q, neo_tensor t) {
  return neo_map_get(&q->updates, t.i, NULL);
}
static bool is_output(const planner *q, neo_tensor t) {
  return neo_map_get(&q->outputs, t.i, NULL);
}

static uint32_t n_outputs(const planner *q) {
  return q->entry ? q->entry->outputs.n : 0;
}
static neo_tensor output_at(const planner *q, uint32_t k) {
  return (neo_tensor){neo_list_at(q->m, q->entry->outputs, k)};
}

/* ---- where tensors live */

static void set_buf(planner *q, neo_tensor t, int32_t buf) {
  neo_map_set(&q->buf_of, t.i, (uint64_t)buf);
}

static bool has_buf(const planner *q, neo_tensor t, int32_t *buf) {
  uint64_t b;
  if (!neo_map_get(&q->buf_of, t.i, &b) && !neo_map_get(&q->env->store->buf_of, t.i, &b))
    return false;
  *buf = (int32_t)b;
  return true;
}

typedef struct {
  neo_module *m;
  neo_tensor old;
  uint32_t n_out;
  bool good;
} same_ctx;

static void same_visit(void *ctx, neo_expr e) {
  same_ctx *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if ((n->op != NEO_OP_LOAD && n->op != NEO_OP_LOAD_ELSE) || n->attr != c->old.i)
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
      if (!same_element_only(q, g, (neo_tensor){neo_list_at(q->m, d->out, i)}))
        return false;
  }
  return true;
}

/* The k-th group of the order writes update u: may it go straight into the old version's place? */
static bool in_place(planner *q, size_t at, neo_tensor u) {
  neo_tensor old = replaced(q, u);
  uint64_t last = 0;
  if (is_output(q, u) || !is_update(q, u) || neo_tensor_at(q->m, u)->pieces.n != 1 ||
      !neo_group_has_form(
          group_at(q, at))) /* its rounds may read what earlier ones would have replaced */
    return false;
  if (neo_map_get(&q->last_read, old.i, &last) && last > at)
    return false;
  return same_element_only(q, group_at(q, at), old);
}

static uint64_t last_use(const planner *q, neo_tensor t) {
  uint64_t read = 0, write = 0;
  neo_map_get(&q->last_read, t.i, &read);
  neo_map_get(&q->last_write, t.i, &write);
  if (is_update(q, t) || is_output(q, t)) /* copied back, or to the caller, at the end */
    return q->order.n;
  return read > write ? read : write;
}

static neo_conditions conditions_at(const planner *q, size_t step) {
  const neo_group *g = group_at(q, step);
  return (neo_conditions){(uint32_t)g->when.n, g->when.at};
}

static void add_item(planner *q, neo_tensor t, uint64_t first, uint64_t last) {
  neo_dsa_item it = {.size_bytes = plan_store_max_bytes(q->env->store, t),
                     .align_bytes = FRAME_ALIGN,
                     .first = (int64_t)first,
                     .last = (int64_t)last,
                     .fixed = NEO_DSA_FREE};
  neo_map_set(&q->item_of, t.i, q->items.n);
  NEO_PUSH(q->scratch, &q->items, it);
  NEO_PUSH(q->scratch, &q->item_bytes, plan_places_bytes(q->env->store, t));
  NEO_PUSH(q->scratch, &q->item_tensor, t);
  NEO_PUSH(q->scratch, &q->item_when, conditions_at(q, (size_t)first));
}

/* The tensor has the memory of an item, which has room for it at all sizes. */
static void share_item(planner *q, neo_tensor t, size_t item) {
  neo_expr own = plan_places_bytes(q->env->store, t), *has = &q->item_bytes.at[item];
  if (own.i != has->i)
    *has = neo_op2(q->m, NEO_OP_MAX, *has, own);
  neo_map_set(&q->item_of, t.i, item);
}

static const neo_plan_parts *parts_at(const planner *q, size_t at) {
  return &q->env->in->parts_of_group[q->order.at[at]];
}

/* The tensor whose memory the kernels of the step give to t; 0: t has its own. */
static neo_tensor given_up(const neo_plan_parts *parts, neo_tensor t) {
  neo_tensor old = {0};
  for (size_t k = 0; k < parts->n && !old.i; k++) {
    const neo_plan_part *x = &parts->at[k];
    for (size_t b = 0; b < x->tensors.n && !old.i; b++)
      if (x->tensors.at[b].i == t.i)
        old = x->over.at[b];
    if (!old.i)
      old = given_up(&x->parts, t);
  }
  return old;
}

static void place_root(planner *q, size_t at, neo_tensor t);

/* May the temporary tensor be written where its group says, as all that is there is read by then? */
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

/* The old one may be made by an earlier kernel of the same step. */
static void take_over(planner *q, size_t at, neo_tensor t, neo_tensor old) {
  uint64_t item = 0;
  place_root(q, at, old);
  uint64_t read = at;
  bool has = neo_map_get(&q->item_of, old.i, &item);
  neo_map_get(&q->last_read, old.i, &read);
  assert(has && read == at && "nobody reads it after this step");
  (void)has;
  q->items.at[item].last = (int64_t)last_use(q, t);
  share_item(q, t, (size_t)item);
  NEO_PUSH(q->scratch, &q->in_place, t);
}

/* ---- tensors of which one is taken (ir/choice.h) */

static neo_tensor place_of(const planner *q, neo_tensor t) {
  uint64_t of;
  while (neo_map_get(&q->same_place, t.i, &of))
    t.i = (uint32_t)of;
  return t;
}

/* The conditions under which t is written, which are the same for all of its pieces. */
static bool written_where(const planner *q, neo_tensor t, neo_conditions *when) {
  bool found = false;
  for (size_t i = 0; i < q->order.n; i++)
    for (size_t k = 0; k < group_at(q, i)->roots.n; k++) {
      neo_conditions here = conditions_at(q, i);
      if (group_at(q, i)->roots.at[k].i != t.i)
        continue;
      if (group_at(q, i)->cached || (found && !neo_conditions_same(when, &here)))
        return false;
      *when = here;
      found = true;
    }
  return found;
}

/* Does the group do nothing but take one of several tensors, each of which may lie where the result does? */
static bool is_choice(planner *q, size_t at, neo_choice *c) {
  const neo_group *g = group_at(q, at);
  neo_conditions *when = NEO_NEW_ARRAY(q->scratch, neo_conditions, NEO_MOST_CHOICES);
  int32_t buf;
  if (g->members.n != 1 || g->roots.n != 1 || g->cached || parts_at(q, at)->n ||
      !neo_group_has_form(g) || !neo_choice_of(q->m, g->members.at[0].def, c) ||
      c->of.i != g->roots.at[0].i)
    return false;
  for (uint32_t k = 0; k < c->n; k++)
    if (has_buf(q, c->from[k], &buf) || is_output(q, c->from[k]) || is_update(q, c->from[k]) ||
        neo_map_get(&q->same_place, c->from[k].i, NULL) || !written_where(q, c->from[k], &when[k]))
      return false;
  return neo_choice_is_exclusive(q->m, c, when);
}

/* Outer ones first: what they take may be the result of another one. */
static void find_choices(planner *q) {
  neo_choice *c = NEO_NEW(q->scratch, neo_choice);
  q->taken = NEO_NEW_ARRAY(q->scratch, bool, q->order.n + 1);
  for (size_t i = q->order.n; i-- > 0;) {
    q->taken[i] = is_choice(q, i, c);
    for (uint32_t k = 0; k < c->n && q->taken[i]; k++)
      neo_map_set(&q->same_place, c->from[k].i, c->of.i);
  }
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
  neo_tensor old = given_up(parts_at(q, at), t);
  if (!old.i && lies_over(q, at, t))
    old = group_at(q, at)->over;
  if (old.i)
    take_over(q, at, t, old);
  else
    add_item(q, t, at, last_use(q, t));
}

/* What only the kernels of a recurrence use lives as long as it runs. */
static void place_between(planner *q, size_t at, const neo_plan_parts *parts) {
  for (size_t k = 0; k < parts->n; k++) {
    const neo_plan_part *x = &parts->at[k];
    int32_t buf;
    for (size_t b = 0; b < x->tensors.n; b++) {
      neo_tensor t = x->tensors.at[b];
      if (!has_buf(q, t, &buf) && !neo_map_get(&q->item_of, t.i, NULL))
        add_item(q, t, at, at);
    }
    place_between(q, at, &x->parts);
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
static void bind_outputs(planner *q) {
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

/* A GPU's kernels run side by side where they share no bytes (phases.h), so these stay apart. */
static void add_places(planner *q, const int32_t *buf, neo_rt_entry *e) {
  plan_frame_items f = {q->items.at, q->item_bytes.at, buf, q->items.n, q->env->in->gpu};
  plan_places_add(q->p, q->scratch, &f, e);
}

/* What an item's tensors have in common. */
static void keep_implied(planner *q, neo_tensor t, const neo_conditions *when) {
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
    q->item_when.at[item].n = 0;
}

static void keep_condition(void *ctx, neo_expr e) {
  planner *q = ctx;
  const neo_node *n = neo_expr_node(q->m, e);
  if (n->op == NEO_OP_LOAD)
    written_always(q, (neo_tensor){n->attr});
}

/* What kernels ask is as if it were written always: all of them have to find the same there, though it may be made by
 * none. */
static void join_conditions(planner *q) {
  for (size_t i = 0; i < q->order.n; i++) {
    const neo_group *g = group_at(q, i);
    neo_conditions when = conditions_at(q, i);
    for (size_t k = 0; k < g->roots.n && !q->taken[i]; k++)
      keep_implied(q, g->roots.at[k], &when);
    for (size_t k = 0; k < g->when.n; k++)
      neo_expr_visit(q->m, g->when.at[k], keep_condition, q);
  }
}

static void share_exclusive(planner *q) {
  plan_exclusive x = {q->items.at, q->item_when.at, q->items.n,
                      q->env->in->gpu ? SMALL_BYTES : 0};
  q->item_into = NEO_NEW_ARRAY(q->scratch, size_t, q->items.n + 1);
  join_conditions(q);
  plan_share_exclusive(q->m, &x, q->item_into, q->scratch);
  for (size_t k = 0; k < q->items.n; k++) {
    neo_expr *bytes = &q->item_bytes.at[q->item_into[k]];
    if (q->item_into[k] != k && bytes->i != q->item_bytes.at[k].i)
      *bytes = neo_op2(q->m, NEO_OP_MAX, *bytes, q->item_bytes.at[k]);
  }
}

/* The buffers of items, once they have offsets. */
static int32_t *item_buffers(planner *q) {
  int32_t *buf = NEO_NEW_ARRAY(q->scratch, int32_t, q->items.n + 1);
  for (int shared = 0; shared < 2; shared++)
    for (size_t k = 0; k < q->items.n; k++) {
      neo_tensor t = q->item_tensor.at[k];
      neo_type type = (neo_type)neo_tensor_at(q->m, t)->type;
      if ((q->item_into[k] != k) != shared)
        continue;
      buf[k] = shared ? plan_store_view(q->env->store, buf[q->item_into[k]], type,
                                        plan_store_max_bytes(q->env->store, t))
                      : plan_store_buf(q->env->store, NEO_RT_MEM_FRAME, type,
                                       q->items.at[k].offset, q->items.at[k].size_bytes);
      set_buf(q, t, buf[k]);
    }
  return buf;
}

static void plan_frame(planner *q, neo_rt_entry *e) {
  find_lifetimes(q);
  find_choices(q);
  for (size_t i = 0; i < q->order.n; i++)
    for (size_t k = 0; k < group_at(q, i)->roots.n; k++)
      place_root(q, i, group_at(q, i)->roots.at[k]);
  for (size_t i = 0; i < q->order.n; i++)
    place_between(q, i, parts_at(q, i));
  share_exclusive(q);
  if (q->env->in->gpu)
    spread_small(q);
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

/* ---- steps */

static void push_arg(planner *q, int32_t buf, neo_tensor t) {
  NEO_PUSH(q->p->arena, &q->p->args, buf);
  NEO_PUSH(q->p->arena, &q->p->arg_tensors, t);
}

/* Kernels count elements from the base of their form in a tensor (fusion/form/rebase.c); f is null for
 * those of a recurrence, which count from the first. */
static void add_arg(planner *q, const neo_form *f, neo_tensor t) {
  int32_t buf = -1;
  bool placed = has_buf(q, t, &buf);
  assert(placed && "every tensor of a group has a place");
  (void)placed;
  int64_t element = neo_type_bytes((neo_type)neo_tensor_at(q->m, t)->type);
  push_arg(q, plan_store_part(q->env->store, buf, (f ? neo_form_base(f, t) : 0) * element), t);
}

static void push_step(planner *q, neo_rt_step s, int32_t group) {
  NEO_PUSH(q->p->arena, &q->p->steps, s);
  NEO_PUSH(q->p->arena, &q->p->step_group, group);
  NEO_PUSH(q->p->arena, &q->p->step_depth, q->depth);
}

/* How many of the last buffers are written, and not read; 0: others are, too. */
static uint16_t count_written(const neo_kernel *k) {
  uint32_t n = 0, all = 0;
  bool only = true;
  for (size_t b = 0; b < k->bufs.n; b++) {
    if (k->bufs.at[b].use & NEO_BUF_SCRATCH)
      continue;
    bool written = k->bufs.at[b].use & NEO_BUF_WRITE;
    n = written ? n + 1 : 0;
    all += written;
    only = only && !(written && k->bufs.at[b].use & NEO_BUF_READ);
  }
  return only && n == all && n <= UINT16_MAX ? (uint16_t)n : 0;
}

static void set_flags(neo_rt_step *s, const neo_plan_kernel *k) {
  if (k->keyless)
    s->flags |= NEO_RT_STEP_KEYLESS;
  if (k->uneven)
    s->flags |= NEO_RT_STEP_UNEVEN;
}

static void add_part_run(planner *q, const neo_plan_part *x, int32_t cached, int32_t group) {
  const neo_plan_kernel *from = &q->env->in->kernels[x->kernel];
  neo_rt_step s = {.op = NEO_RT_STEP_RUN, .arg = (int32_t)x->kernel, .cached = cached};
  s.first = (int32_t)q->p->args.n;
  for (size_t b = 0; b < x->tensors.n; b++)
    add_arg(q, NULL, x->tensors.at[b]);
  s.n = (int32_t)q->p->args.n - s.first;
  s.n_written = count_written(from->kernel);
  set_flags(&s, from);
  push_step(q, s, group);
}

static int32_t add_loop_row(planner *q, const neo_plan_part *x) {
  neo_expr zero = neo_const_int(q->m, NEO_I64_T, 0);
  neo_rt_loop row = {.index = x->index.i ? (int32_t)neo_size_number(q->m, x->index) : -1,
                     .lo = neo_plan_program(q->p, x->lo.i ? x->lo : zero),
                     .hi = neo_plan_program(q->p, x->hi),
                     .down = x->down,
                     .begin = -1,
                     .end = -1};
  if (x->blocks.first.i) {
    row.begin = (int32_t)neo_size_number(q->m, x->blocks.begin);
    row.end = (int32_t)neo_size_number(q->m, x->blocks.end);
  }
  NEO_PUSH(q->p->arena, &q->p->loops, row);
  return (int32_t)q->p->loops.n - 1;
}

static uint8_t flags_of(neo_block_range range) {
  return range == NEO_BLOCKS_WIDE     ? NEO_RT_STEP_BLOCKS | NEO_RT_STEP_WIDE
         : range == NEO_BLOCKS_SERIAL ? NEO_RT_STEP_BLOCKS | NEO_RT_STEP_SERIAL
                                      : NEO_RT_STEP_BLOCKS;
}

static void add_parts(planner *q, const neo_plan_parts *parts, int32_t cached, int32_t group) {
  for (size_t k = 0; k < parts->n; k++) {
    const neo_plan_part *x = &parts->at[k];
    if (!x->is_loop) {
      add_part_run(q, x, cached, group);
      continue;
    }
    size_t at = q->p->steps.n;
    neo_rt_step loop = {.op = NEO_RT_STEP_LOOP, .arg = add_loop_row(q, x), .cached = cached};
    if (x->blocks.first.i) {
      loop.flags = flags_of(x->blocks.range);
      loop.first = (int32_t)q->p->args.n;
      add_arg(q, NULL, x->blocks.first);
    }
    push_step(q, loop, group);
    q->depth++;
    add_parts(q, &x->parts, cached, group);
    q->depth--;
    q->p->steps.at[at].n = (int32_t)(q->p->steps.n - at - 1);
  }
}

static void add_copy(planner *q, int32_t to, int32_t from, neo_tensor copied, neo_tensor like);

/* A kernel that writes new versions only where they differ finds the old ones in their place. */
static void copy_old(planner *q, const neo_group *g) {
  if (!neo_form_changes_where(q->m, neo_group_form(q->m, g)).i)
    return;
  for (size_t k = 0; k < g->roots.n; k++) {
    int32_t to, from;
    if (has_buf(q, g->roots.at[k], &to) && has_buf(q, replaced(q, g->roots.at[k]), &from))
      add_copy(q, to, from, replaced(q, g->roots.at[k]), g->roots.at[k]);
  }
}

static void add_run(planner *q, size_t step) {
  const neo_group *gr = group_at(q, step);
  if (q->taken[step])
    return;
  if (parts_at(q, step)->n) {
    int32_t group = (int32_t)q->order.at[step];
    add_parts(q, parts_at(q, step), gr->cached ? plan_cached_group(q->env, q->order.at[step]) : 0,
              group);
    return;
  }
  copy_old(q, gr);
  neo_rt_step s = {.op = NEO_RT_STEP_RUN,
                   .arg = (int32_t)q->env->in->kernel_of_group[q->order.at[step]]};
  const neo_form *f = neo_group_form(q->m, gr);
  s.first = (int32_t)q->p->args.n;
  for (size_t k = 0; k < gr->reads.n; k++)
    add_arg(q, f, gr->reads.at[k]);
  for (size_t k = 0; k < gr->roots.n; k++)
    add_arg(q, f, gr->roots.at[k]);
  s.n = (int32_t)q->p->args.n - s.first;
  s.n_written = gr->roots.n <= UINT16_MAX ? (uint16_t)gr->roots.n : 0;
  set_flags(&s, &q->env->in->kernels[s.arg]);
  s.cached = gr->cached ? plan_cached_group(q->env, q->order.at[step]) : 0;
  push_step(q, s, (int32_t)q->order.at[step]);
}

static void add_copy(planner *q, int32_t to, int32_t from, neo_tensor copied, neo_tensor like) {
  if (to == from)
    return;
  neo_rt_step s = {.op = NEO_RT_STEP_COPY,
                   .arg = neo_plan_bytes(q->p, like),
                   .first = (int32_t)q->p->args.n,
                   .n = 2};
  push_arg(q, to, like);
  push_arg(q, from, copied);
  push_step(q, s, -1);
}

static void copy_outputs(planner *q, bool computed) {
  for (uint32_t k = 0; k < n_outputs(q); k++) {
    neo_tensor t = output_at(q, k);
    int32_t from;
    if (neo_map_get(&q->last_write, t.i, NULL) == computed && has_buf(q, t, &from))
      add_copy(q, q->p->tensors.at[q->output[k]].buf, from, t, t);
  }
}

static void copy_updates(planner *q) {
  for (size_t k = 0; k < q->items.n; k++) {
    neo_tensor u = q->item_tensor.at[k];
    int32_t to, from;
    if (is_update(q, u) && has_buf(q, replaced(q, u), &to) && has_buf(q, u, &from))
      add_copy(q, to, from, u, u);
  }
}

/* Lifetimes count groups; what is copied at the end lives until then. */
static void note_places(planner *q, const neo_rt_entry *e) {
  for (size_t k = 0; k < q->items.n; k++) {
    const neo_dsa_item *it = &q->items.at[k];
    if (q->item_into[k] != k) /* the place is noted once */
      continue;
    bool to_the_end = it->last >= (int64_t)q->order.n;
    int32_t buf = -1;
    (void)has_buf(q, q->item_tensor.at[k], &buf);
    neo_plan_place x = {.entry = (int32_t)q->p->entries.n,
                        .tensor = q->item_tensor.at[k],
                        .buf = buf,
                        .offset = it->offset,
                        .size_bytes = it->size_bytes,
                        .first = q->first_step[it->first],
                        .last = to_the_end ? e->n_steps - 1 : q->first_step[it->last + 1] - 1};
    NEO_PUSH(q->p->arena, &q->p->places, x);
  }
}

/* ---- what the caller gives */

typedef struct {
  const neo_module *m;
  bool *size, *input; /* by id */
} signature;

static void use_expr(void *ctx, neo_expr e) {
  const signature *s = ctx;
  const neo_node *n = neo_expr_node(s->m, e);
  if (n->op == NEO_OP_SIZE)
    neo_plan_sizes(s->m, e, s->size);
}

/* The sizes that its shape and its bound need. */
static void use_tensor(const signature *s, neo_tensor t) {
  s->input[t.i] = true;
  neo_plan_sizes(s->m, neo_tensor_at(s->m, t)->bound, s->size);
  for (uint32_t k = 0; k < neo_tensor_rank(s->m, t); k++)
    neo_plan_sizes(s->m, neo_tensor_extent(s->m, t, k), s->size);
}

static void use_group(signature *s, const neo_group *g) {
  for (size_t k = 0; k < g->members.n; k++)
    neo_def_visit(s->m, g->members.at[k].def, use_expr, s);
  for (size_t k = 0; k < g->reads.n; k++)
    use_tensor(s, g->reads.at[k]);
  for (size_t k = 0; k < g->roots.n; k++)
    use_tensor(s, g->roots.at[k]);
}

static void add_signature(planner *q, neo_rt_entry *e) {
  signature s = {.m = q->m};
  s.size = NEO_NEW_ARRAY(q->scratch, bool, q->m->sizes.n + 1);
  s.input = NEO_NEW_ARRAY(q->scratch, bool, q->m->tensors.n + 1);
  for (size_t i = 0; i < q->order.n; i++)
    use_group(&s, group_at(q, i));
  for (uint32_t k = 0; k < n_outputs(q); k++)
    use_tensor(&s, output_at(q, k));
  e->args = (int32_t)q->p->entry_args.n;
  e->sizes = (int32_t)q->p->entry_sizes.n;
  for (uint32_t t = 1; t < q->m->tensors.n; t++) {
    uint64_t number = 0;
    if (!s.input[t] || role_of(q, (neo_tensor){t}) != NEO_ROLE_INPUT)
      continue;
    neo_map_get(&q->env->store->named, t, &number);
    NEO_PUSH(q->p->arena, &q->p->entry_args, (int32_t)number);
  }
  e->n_inputs = (int32_t)q->p->entry_args.n - e->args;
  for (uint32_t k = 0; k < n_outputs(q); k++)
    NEO_PUSH(q->p->arena, &q->p->entry_args, q->output[k]);
  e->n_args = (int32_t)q->p->entry_args.n - e->args;
  for (uint32_t k = 1; k < q->m->sizes.n; k++)
    if (s.size[k])
      NEO_PUSH(q->p->arena, &q->p->entry_sizes, (int32_t)k - 1);
  e->n_sizes = (int32_t)q->p->entry_sizes.n - e->sizes;
}

/* Parameters and states that have new values afterwards. */
static void add_writes(planner *q, neo_rt_entry *e) {
  e->writes = (int32_t)q->p->entry_writes.n;
  for (uint32_t k = 0; q->entry && k < q->entry->updates.n; k++) {
    uint64_t number;
    neo_tensor old = replaced(q, (neo_tensor){neo_list_at(q->m, q->entry->updates, k)});
    if (neo_map_get(&q->env->store->named, old.i, &number))
      NEO_PUSH(q->p->arena, &q->p->entry_writes, (int32_t)number);
  }
  e->n_writes = (int32_t)q->p->entry_writes.n - e->writes;
}

/* ---- the whole */

static planner planner_new(const plan_entry_env *env, const neo_entry_rec *entry) {
  planner q = {.env = env,
               .p = env->store->p,
               .m = env->store->p->m,
               .scratch = env->store->scratch,
               .entry = entry};
  q.grouping = env->in->grouping;
  neo_map *maps[] = {&q.outputs, &q.updates, &q.last_read, &q.last_write, &q.buf_of, &q.item_of,
                    &q.same_place};
  for (size_t k = 0; k < sizeof maps / sizeof *maps; k++)
    neo_map_init(maps[k], q.scratch);
  for (uint32_t k = 0; entry && k < entry->outputs.n; k++)
    neo_map_set(&q.outputs, neo_list_at(q.m, entry->outputs, k), 1);
  for (uint32_t k = 0; entry && k < entry->updates.n; k++)
    neo_map_set(&q.updates, neo_list_at(q.m, entry->updates, k), 1);
  return q;
}

static void add_steps(planner *q, const neo_tensor *roots, size_t n, neo_rt_entry e) {
  q->order = plan_order(q->env, q->scratch, &q->updates, roots, n, q->entry);
  bind_outputs(q);
  plan_frame(q, &e);
  e.first_step = (int32_t)q->p->steps.n;
  copy_outputs(q, false);
  q->first_step = NEO_NEW_ARRAY(q->scratch, int32_t, q->order.n + 1);
  for (size_t i = 0; i < q->order.n; i++) {
    q->first_step[i] = (int32_t)q->p->steps.n - e.first_step;
    add_run(q, i);
  }
  q->first_step[q->order.n] = (int32_t)q->p->steps.n - e.first_step;
  copy_outputs(q, true);
  copy_updates(q);
  e.n_steps = (int32_t)q->p->steps.n - e.first_step;
  note_places(q, &e);
  add_signature(q, &e);
  add_writes(q, &e);
  NEO_PUSH(q->p->arena, &q->p->entries, e);
}

static uint8_t kind_of(uint8_t kind) {
  switch (kind) {
  case NEO_ENTRY_TRAIN:
    return NEO_RT_ENTRY_TRAIN;
  case NEO_ENTRY_GRAD:
    return NEO_RT_ENTRY_GRAD;
  case NEO_ENTRY_INIT:
    return NEO_RT_ENTRY_INIT;
  default:
    return NEO_RT_ENTRY_FORWARD;
  }
}

void plan_entry_add(const plan_entry_env *env, const neo_entry_rec *entry) {
  planner q = planner_new(env, entry);
  neo_list lists[2] = {entry->outputs, entry->updates};
  NEO_VEC(neo_tensor) roots = {0};
  for (int l = 0; l < 2; l++)
    for (uint32_t k = 0; k < lists[l].n; k++)
      NEO_PUSH(q.scratch, &roots, (neo_tensor){neo_list_at(q.m, lists[l], k)});
  add_steps(
      &q, roots.at, roots.n,
      (neo_rt_entry){.name = neo_name_text(q.m->names, entry->name), .kind = kind_of(entry->kind)});
}

typedef NEO_VEC(neo_tensor) tensor_vec;

static void add_init(const plan_entry_env *env, const char *name, const tensor_vec *roots) {
  planner q = planner_new(env, NULL);
  add_steps(&q, roots->at, roots->n, (neo_rt_entry){.name = name, .kind = NEO_RT_ENTRY_INIT});
}

/* Tells the runtime what an entry of initial values makes. */
static void note_roots(const plan_entry_env *env, const tensor_vec *roots) {
  neo_plan *p = env->store->p;
  neo_rt_entry *e = &p->entries.at[p->entries.n - 1];
  for (size_t k = 0; k < roots->n; k++) {
    uint64_t number;
    if (!neo_map_get(&env->store->named, roots->at[k].i, &number))
      continue;
    NEO_PUSH(p->arena, &p->entry_writes, (int32_t)number);
    e->n_writes++;
  }
}

void plan_entry_init(const plan_entry_env *env) {
  neo_module *m = env->store->p->m;
  tensor_vec all = {0}, follow = {0};
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    if (neo_tensor_at(m, (neo_tensor){t})->init.i)
      NEO_PUSH(env->store->scratch, &all, (neo_tensor){t});
    if (neo_tensor_follows(m, (neo_tensor){t}, env->store->scratch))
      NEO_PUSH(env->store->scratch, &follow, (neo_tensor){t});
  }
  add_init(env, "init", &all);
  plan_entry_env only = *env;
  only.roots_only = true;
  if (!follow.n)
    return;
  add_init(&only, "follow", &follow);
  note_roots(env, &follow);
}
