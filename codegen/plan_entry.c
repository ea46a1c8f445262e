/* The steps of one entry: the groups that its roots need, producers first, updates as late as the readers of old versions
 * ask; then a buffer for every tensor, with the frame's offsets planned from the steps' lifetimes.
 *
 * Order: copies of old values to the caller; groups that write no update; groups that write updates, each after the groups
 * that read what it replaces; copies of the updates that could not be written in place. */
#include "codegen/plan_internal.h"
#include <assert.h>

typedef struct {
  const plan_entry_env *env;
  neo_plan *p;
  neo_module *m;
  neo_arena *scratch;
  const neo_entry_rec *entry; /* null: init */
  const neo_grouping *grouping;
  NEO_VEC(uint32_t) order; /* groups */
  neo_map group_of;        /* tensor -> group that writes it */
  neo_map buf_of;          /* tensor -> buf in this entry */
  neo_map needed;          /* group -> 1 */
  NEO_VEC(neo_rt_item) items;
  NEO_VEC(neo_tensor) item_tensor;
} planner;

static const neo_group *group_at(const planner *q, uint32_t g) {
  return &q->grouping->groups.at[g];
}
static neo_role role_of(const planner *q, neo_tensor t) {
  return (neo_role)neo_tensor_at(q->m, t)->role;
}

/* ---- which groups, in which order */

static void index_groups(planner *q, bool init) {
  for (uint32_t g = 0; g < q->grouping->groups.n; g++) {
    const neo_group *gr = group_at(q, g);
    for (size_t k = 0; k < gr->roots.n; k++) {
      neo_role r = role_of(q, gr->roots.at[k]);
      bool stored = r == NEO_ROLE_PARAM || r == NEO_ROLE_STATE || r == NEO_ROLE_SETTING;
      if (stored == init || r == NEO_ROLE_TEMP)
        neo_map_set(&q->group_of, gr->roots.at[k].i, g);
    }
  }
}

static void need(planner *q, neo_tensor t) {
  uint64_t g;
  if (!neo_map_get(&q->group_of, t.i, &g) || neo_map_get(&q->needed, g, NULL))
    return;
  neo_map_set(&q->needed, g, 1);
  const neo_group *gr = group_at(q, (uint32_t)g);
  for (size_t k = 0; k < gr->reads.n; k++)
    need(q, gr->reads.at[k]);
}

static bool in_list(const planner *q, neo_list l, neo_tensor t) {
  for (uint32_t k = 0; k < l.n; k++)
    if (neo_list_at(q->m, l, k) == t.i)
      return true;
  return false;
}

/* Does t take effect when this entry ends? */
static bool is_update(const planner *q, neo_tensor t) {
  return q->entry && in_list(q, q->entry->updates, t);
}
static bool is_output(const planner *q, neo_tensor t) {
  return q->entry && in_list(q, q->entry->outputs, t);
}

static bool reads(const planner *q, uint32_t g, neo_tensor t) {
  for (size_t k = 0; k < group_at(q, g)->reads.n; k++)
    if (group_at(q, g)->reads.at[k].i == t.i)
      return true;
  return false;
}

/* Must g run before h: because h reads what g writes, or overwrites what g reads? */
static bool before(const planner *q, uint32_t g, uint32_t h) {
  const neo_group *gr = group_at(q, g), *hr = group_at(q, h);
  for (size_t k = 0; k < gr->roots.n; k++)
    if (reads(q, h, gr->roots.at[k]))
      return true;
  for (size_t k = 0; k < hr->roots.n; k++)
    if (is_update(q, hr->roots.at[k]) && reads(q, g, neo_tensor_at(q->m, hr->roots.at[k])->updates))
      return true;
  return false;
}

/* A stable selection: next is the first group that nothing left must precede. Updates that overwrite each other's inputs
 * form a cycle: it is cut at the first of them, whose update then is not in place. */
static void order_groups(planner *q) {
  uint32_t *left = NEO_NEW_ARRAY(q->scratch, uint32_t, q->grouping->groups.n + 1);
  size_t n = 0;
  for (uint32_t g = 0; g < q->grouping->groups.n; g++)
    if (neo_map_get(&q->needed, g, NULL))
      left[n++] = g;
  while (n) {
    size_t pick = 0;
    for (size_t i = 0; i < n; i++) {
      bool ready = true;
      for (size_t j = 0; j < n && ready; j++)
        ready = j == i || !before(q, left[j], left[i]);
      if (!ready)
        continue;
      pick = i;
      break;
    }
    NEO_PUSH(q->scratch, &q->order, left[pick]);
    for (size_t i = pick; i + 1 < n; i++)
      left[i] = left[i + 1];
    n--;
  }
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

/* Are all reads of `old` in group g at the element that is being written, with nothing but elementwise work between? What
 * an inlined member makes of it counts as `old` itself. */
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
  neo_tensor old = neo_tensor_at(q->m, u)->updates;
  if (is_output(q, u) || !is_update(q, u))
    return false;
  for (size_t i = at + 1; i < q->order.n; i++)
    if (reads(q, q->order.at[i], old))
      return false;
  const neo_group *g = group_at(q, q->order.at[at]);
  if (neo_tensor_at(q->m, u)->pieces.n != 1)
    return false;
  return same_element_only(q, g, old);
}

static void add_item(planner *q, neo_tensor t, int32_t at) {
  neo_rt_item it = {plan_store_max_bytes(q->env->store, t), at, at, 0};
  NEO_PUSH(q->scratch, &q->items, it);
  NEO_PUSH(q->scratch, &q->item_tensor, t);
}

static void extend_item(planner *q, neo_tensor t, int32_t at) {
  for (size_t k = 0; k < q->items.n; k++)
    if (q->item_tensor.at[k].i == t.i) {
      q->items.at[k].last = at;
      return;
    }
}

/* Roots written at step `at`: caller's memory, in place, or a frame item. */
static void place_root(planner *q, size_t at, neo_tensor t) {
  int32_t buf;
  if (has_buf(q, t, &buf))
    return;
  if (role_of(q, t) == NEO_ROLE_UPDATE && in_place(q, at, t) &&
      has_buf(q, neo_tensor_at(q->m, t)->updates, &buf)) {
    set_buf(q, t, buf);
    return;
  }
  for (size_t k = 0; k < q->item_tensor.n; k++)
    if (q->item_tensor.at[k].i == t.i)
      return; /* another piece of it came before */
  add_item(q, t, (int32_t)at);
}

static void bind_outputs(planner *q) {
  for (uint32_t k = 0; q->entry && k < q->entry->outputs.n; k++) {
    neo_tensor t = {neo_list_at(q->m, q->entry->outputs, k)};
    int32_t number = plan_store_output(q->env->store, neo_list_at(q->m, q->entry->names, k), t),
            buf;
    if (role_of(q, t) == NEO_ROLE_TEMP && !has_buf(q, t, &buf))
      set_buf(q, t, q->p->tensors.at[number].buf);
  }
}

static void plan_frame(planner *q, neo_rt_entry *e) {
  for (size_t i = 0; i < q->order.n; i++) {
    const neo_group *g = group_at(q, q->order.at[i]);
    for (size_t k = 0; k < g->roots.n; k++)
      place_root(q, i, g->roots.at[k]);
    for (size_t k = 0; k < g->reads.n; k++)
      extend_item(q, g->reads.at[k], (int32_t)i);
  }
  int32_t end = (int32_t)q->order.n;
  for (size_t k = 0; k < q->items.n; k++) /* copied back, or to the caller, at the end */
    if (is_update(q, q->item_tensor.at[k]) || is_output(q, q->item_tensor.at[k]))
      q->items.at[k].last = end;
  int64_t *scratch = NEO_NEW_ARRAY(q->scratch, int64_t, q->items.n + 1);
  e->frame_bytes =
      neo_rt_plan(q->items.at, (int32_t)q->items.n, 64, scratch, &e->lower_bound_bytes);
  for (size_t k = 0; k < q->items.n; k++) {
    neo_type type = (neo_type)neo_tensor_at(q->m, q->item_tensor.at[k])->type;
    set_buf(q, q->item_tensor.at[k],
            plan_store_buf(q->env->store, NEO_RT_MEM_FRAME, type, q->items.at[k].offset,
                           q->items.at[k].size_bytes));
  }
  if (e->frame_bytes > q->p->frame_bytes)
    q->p->frame_bytes = e->frame_bytes;
}

/* ---- steps */

static void add_arg(planner *q, neo_tensor t) {
  int32_t buf = -1;
  bool placed = has_buf(q, t, &buf);
  assert(placed && "every tensor of a group has a place");
  (void)placed;
  NEO_PUSH(q->p->arena, &q->p->args, buf);
}

static void add_run(planner *q, uint32_t g) {
  const neo_group *gr = group_at(q, g);
  neo_rt_step s = {.op = NEO_RT_STEP_RUN, .arg = (int32_t)q->env->in->kernel_of_group[g]};
  s.first = (int32_t)q->p->args.n;
  for (size_t k = 0; k < gr->reads.n; k++)
    add_arg(q, gr->reads.at[k]);
  for (size_t k = 0; k < gr->roots.n; k++)
    add_arg(q, gr->roots.at[k]);
  s.n = (int32_t)q->p->args.n - s.first;
  NEO_PUSH(q->p->arena, &q->p->steps, s);
}

static void add_copy(planner *q, int32_t to, int32_t from, neo_tensor like) {
  if (to == from)
    return;
  neo_rt_step s = {.op = NEO_RT_STEP_COPY,
                   .arg = neo_plan_bytes(q->p, like),
                   .first = (int32_t)q->p->args.n,
                   .n = 2};
  NEO_PUSH(q->p->arena, &q->p->args, to);
  NEO_PUSH(q->p->arena, &q->p->args, from);
  NEO_PUSH(q->p->arena, &q->p->steps, s);
}

static void copy_outputs(planner *q, bool computed) {
  for (uint32_t k = 0; q->entry && k < q->entry->outputs.n; k++) {
    neo_tensor t = {neo_list_at(q->m, q->entry->outputs, k)};
    int32_t number = plan_store_output(q->env->store, neo_list_at(q->m, q->entry->names, k), t),
            from;
    bool later = neo_map_get(&q->group_of, t.i, NULL);
    if (later == computed && has_buf(q, t, &from))
      add_copy(q, q->p->tensors.at[number].buf, from, t);
  }
}

static void copy_updates(planner *q) {
  for (size_t k = 0; k < q->items.n; k++) {
    neo_tensor u = q->item_tensor.at[k];
    int32_t to, from;
    if (!is_update(q, u))
      continue;
    if (has_buf(q, neo_tensor_at(q->m, u)->updates, &to) && has_buf(q, u, &from))
      add_copy(q, to, from, u);
  }
}

/* ---- what the caller gives */

static void use_sizes(void *ctx, neo_expr e) {
  void **c = ctx;
  const neo_node *n = neo_expr_node(c[0], e);
  if (n->op == NEO_OP_SIZE)
    ((bool *)c[1])[n->attr] = true;
}

static void sizes_of_tensor(planner *q, neo_tensor t, bool *used) {
  void *ctx[2] = {q->m, used};
  for (uint32_t k = 0; k < neo_tensor_rank(q->m, t); k++)
    neo_expr_visit(q->m, neo_tensor_extent(q->m, t, k), use_sizes, ctx);
}

static void add_signature(planner *q, neo_rt_entry *e) {
  bool *used = NEO_NEW_ARRAY(q->scratch, bool, q->m->sizes.n + 1);
  bool *input = NEO_NEW_ARRAY(q->scratch, bool, q->m->tensors.n + 1);
  for (size_t i = 0; i < q->order.n; i++) {
    const neo_group *g = group_at(q, q->order.at[i]);
    void *ctx[2] = {q->m, used};
    for (size_t k = 0; k < g->members.n; k++)
      neo_def_visit(q->m, g->members.at[k].def, use_sizes, ctx);
    for (size_t k = 0; k < g->reads.n; k++)
      sizes_of_tensor(q, g->reads.at[k], used);
    for (size_t k = 0; k < g->roots.n; k++)
      sizes_of_tensor(q, g->roots.at[k], used);
    for (size_t k = 0; k < g->reads.n; k++)
      input[g->reads.at[k].i] = true;
  }
  for (uint32_t k = 0; q->entry && k < q->entry->outputs.n; k++) {
    neo_tensor t = {neo_list_at(q->m, q->entry->outputs, k)};
    input[t.i] = true;
    sizes_of_tensor(q, t, used);
  }
  e->args = (int32_t)q->p->entry_args.n;
  e->sizes = (int32_t)q->p->entry_sizes.n;
  for (uint32_t t = 1; t < q->m->tensors.n; t++) {
    uint64_t number;
    if (!input[t] || role_of(q, (neo_tensor){t}) != NEO_ROLE_INPUT)
      continue;
    neo_map_get(&q->env->store->named, t, &number);
    NEO_PUSH(q->p->arena, &q->p->entry_args, (int32_t)number);
    sizes_of_tensor(q, (neo_tensor){t}, used);
  }
  e->n_inputs = (int32_t)q->p->entry_args.n - e->args;
  for (uint32_t k = 0; q->entry && k < q->entry->outputs.n; k++) {
    neo_tensor t = {neo_list_at(q->m, q->entry->outputs, k)};
    NEO_PUSH(q->p->arena, &q->p->entry_args,
             plan_store_output(q->env->store, neo_list_at(q->m, q->entry->names, k), t));
  }
  e->n_args = (int32_t)q->p->entry_args.n - e->args;
  for (uint32_t k = 1; k < q->m->sizes.n; k++)
    if (used[k])
      NEO_PUSH(q->p->arena, &q->p->entry_sizes, (int32_t)k - 1);
  e->n_sizes = (int32_t)q->p->entry_sizes.n - e->sizes;
}

static planner planner_new(const plan_entry_env *env, const neo_entry_rec *entry) {
  planner q = {.env = env,
               .p = env->store->p,
               .m = env->store->p->m,
               .scratch = env->store->scratch,
               .entry = entry};
  q.grouping = env->in->grouping;
  neo_map_init(&q.group_of, q.scratch);
  neo_map_init(&q.buf_of, q.scratch);
  neo_map_init(&q.needed, q.scratch);
  index_groups(&q, !entry);
  return q;
}

static void finish(planner *q, neo_rt_entry e) {
  order_groups(q);
  bind_outputs(q);
  plan_frame(q, &e);
  e.first_step = (int32_t)q->p->steps.n;
  copy_outputs(q, false);
  for (size_t i = 0; i < q->order.n; i++)
    add_run(q, q->order.at[i]);
  copy_outputs(q, true);
  copy_updates(q);
  e.n_steps = (int32_t)q->p->steps.n - e.first_step;
  add_signature(q, &e);
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
  neo_list roots[2] = {entry->outputs, entry->updates};
  for (int l = 0; l < 2; l++)
    for (uint32_t k = 0; k < roots[l].n; k++)
      need(&q, (neo_tensor){neo_list_at(q.m, roots[l], k)});
  finish(&q, (neo_rt_entry){.name = neo_name_text(q.m->names, entry->name),
                            .kind = kind_of(entry->kind)});
}

void plan_entry_init(const plan_entry_env *env) {
  planner q = planner_new(env, NULL);
  for (uint32_t t = 1; t < q.m->tensors.n; t++)
    if (neo_tensor_at(q.m, (neo_tensor){t})->init.i)
      need(&q, (neo_tensor){t});
  finish(&q, (neo_rt_entry){.name = "init", .kind = NEO_RT_ENTRY_INIT});
}
