/* The steps of one entry: the groups that its roots need (plan/order.c), then a buffer for every
 * tensor, with the frame's offsets planned from the steps' lifetimes.
 *
 * Order: copies of old values to the caller; the groups; copies of results that the caller wants
 * twice; copies of the updates that could not be written in place. */
#include "codegen/plan/internal.h"
#include "codegen/plan/planner.h"
#include "fusion/form.h"
#include <assert.h>
/* ---- steps */

static void push_arg(planner *q, int32_t buf, neo_tensor t) {
  NEO_PUSH(q->p->arena, &q->p->args, buf);
  NEO_PUSH(q->p->arena, &q->p->arg_tensors, t);
}

/* Kernels count elements from the base of their form in a tensor (fusion/form/rebase.c); f is null
 * for those of a recurrence, which count from the first. */
static void add_arg(planner *q, const neo_form *f, neo_tensor t) {
  int32_t buf = -1;
  bool placed = has_buf(q, t, &buf);
  assert(placed && "every tensor of a group has a place");
  (void)placed;
  int64_t element = neo_type_bytes(neo_tensor_type(q->m, t));
  push_arg(q, plan_store_part(q->env->store, buf, (f ? neo_form_base(f, t) : 0) * element), t);
}

static void push_step(planner *q, neo_rt_step s, int32_t group) {
  NEO_PUSH(q->p->arena, &q->p->steps, s);
  NEO_PUSH(q->p->arena, &q->p->step_group, group);
  NEO_PUSH(q->p->arena, &q->p->step_depth, q->depth);
}

/* The number of the last buffers, which are written and not read; 0: other buffers are written,
 * too. */
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

static void add_kernel_run(planner *q, const neo_plan_mark *x, int32_t cached, int32_t group) {
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

/* The loop of a guard: one iteration if the condition holds, else none. */
static neo_rt_loop guard_row(planner *q, neo_expr condition) {
  neo_expr zero = neo_const_i64(q->m, 0);
  return (neo_rt_loop){.index = -1,
                       .lo = neo_plan_program(q->p, zero),
                       .hi = neo_plan_program(q->p, condition),
                       .begin = -1,
                       .end = -1};
}

static neo_rt_loop band_row(planner *q, const neo_tree_band *b) {
  neo_rt_loop row = {.index = (int32_t)neo_size_number(q->m, b->index),
                     .lo = neo_plan_program(q->p, b->lo),
                     .hi = neo_plan_program(q->p, b->hi),
                     .down = b->down,
                     .begin = -1,
                     .end = -1};
  if (b->rows.first.i) {
    row.begin = (int32_t)neo_size_number(q->m, b->rows.begin);
    row.end = (int32_t)neo_size_number(q->m, b->rows.end);
  }
  return row;
}

static uint16_t flags_of(neo_block_range range) {
  return range == NEO_BLOCKS_WIDE     ? NEO_RT_STEP_BLOCKS | NEO_RT_STEP_WIDE
         : range == NEO_BLOCKS_SERIAL ? NEO_RT_STEP_BLOCKS | NEO_RT_STEP_SERIAL
         : range == NEO_BLOCKS_WHOLE  ? NEO_RT_STEP_BLOCKS | NEO_RT_STEP_WHOLE
                                      : NEO_RT_STEP_BLOCKS;
}

/* The number of the element that a condition is, or below 0 where it is outside of its tensor, and
 * true. */
static neo_expr element_number(neo_module *m, neo_expr condition) {
  const neo_node n = *neo_expr_node(m, condition);
  neo_tensor t = {n.attr};
  neo_expr zero = neo_const_i64(m, 0), at = zero, inside = neo_const_bool(m, true);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    neo_expr index = neo_list_expr(m, n.arg, k), there = neo_op2(m, NEO_OP_LE, zero, index);
    at = neo_op2(m, NEO_OP_MUL, at, neo_tensor_extent(m, t, k));
    at = neo_op2(m, NEO_OP_ADD, at, index);
    inside = neo_op2(m, NEO_OP_AND, inside, there);
  }
  return neo_op3(m, NEO_OP_SELECT, inside, at, neo_const_i64(m, -1));
}

/* The element that a band's bound is; 0: it has none, or it is another expression. */
static neo_expr end_element(const neo_module *m, const neo_tree *t) {
  neo_expr e = t->kind == NEO_TREE_BAND ? t->band.bound : (neo_expr){0};
  if (e.i && neo_expr_node(m, e)->op == NEO_OP_CAST)
    e = neo_expr_arg(m, e, 0);
  return e.i && neo_expr_node(m, e)->op == NEO_OP_LOAD ? e : (neo_expr){0};
}

/* Makes the loop an early exit: it reads the element of the condition before each iteration; or one
 * that ends at an element. */
static void add_condition(planner *q, neo_rt_step *s, neo_rt_loop *row, uint8_t flag,
                          neo_expr condition) {
  s->flags |= flag;
  s->first = (int32_t)q->p->args.n;
  add_arg(q, NULL, (neo_tensor){neo_expr_node(q->m, condition)->attr});
  row->element = neo_plan_program(q->p, element_number(q->m, condition));
}

static void add_tree(planner *q, const neo_plan_tree *of, const neo_tree *t, int32_t cached,
                     int32_t group);

/* A band or a guard: a loop around the steps of its child. */
static void add_loop(planner *q, const neo_plan_tree *of, const neo_tree *t, int32_t cached,
                     int32_t group) {
  size_t at = q->p->steps.n;
  bool band = t->kind == NEO_TREE_BAND;
  neo_expr asked = band ? neo_recurrence_exit(t) : t->condition;
  bool asks = band ? asked.i != 0 : neo_recurrence_asks(q->m, t);
  neo_expr always = neo_const_i64(q->m, 1);
  neo_rt_loop row = band ? band_row(q, &t->band) : guard_row(q, asks ? always : t->condition);
  neo_rt_step loop = {.op = NEO_RT_STEP_LOOP, .arg = (int32_t)q->p->loops.n, .cached = cached};
  neo_expr end = asks ? (neo_expr){0} : end_element(q->m, t);
  if (asks || end.i)
    add_condition(q, &loop, &row, asks ? NEO_RT_STEP_ASKS : NEO_RT_STEP_ENDS, asks ? asked : end);
  NEO_PUSH(q->p->arena, &q->p->loops, row);
  if (band && t->band.rows.first.i) {
    loop.flags = flags_of(t->band.rows.range);
    loop.first = (int32_t)q->p->args.n;
    add_arg(q, NULL, t->band.rows.first);
  }
  push_step(q, loop, group);
  q->depth++;
  add_tree(q, of, t->children.at[0], cached, group);
  q->depth--;
  q->p->steps.at[at].n = (int32_t)(q->p->steps.n - at - 1);
}

static void add_tree(planner *q, const neo_plan_tree *of, const neo_tree *t, int32_t cached,
                     int32_t group) {
  if (t->kind == NEO_TREE_MARK)
    add_kernel_run(q, &of->marks.at[t->mark], cached, group);
  else if (t->kind == NEO_TREE_BAND || t->kind == NEO_TREE_GUARD)
    add_loop(q, of, t, cached, group);
  else
    for (size_t k = 0; k < t->children.n; k++)
      add_tree(q, of, t->children.at[k], cached, group);
}

static void add_copy(planner *q, int32_t to, int32_t from, neo_tensor copied, neo_tensor like);

/* Copies the old version of a tensor to the new one's memory before a kernel that writes changed
 * elements alone. */
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
  const neo_plan_tree *tree = tree_at(q, step);
  if (tree->root) {
    int32_t cached = gr->cached ? plan_cached_group(q->env, q->order.at[step]) : 0;
    add_tree(q, tree, tree->root, cached, (int32_t)q->order.at[step]);
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

/* An extent below 0 is one of 0. */
static neo_expr length(neo_module *m, neo_expr extent) {
  neo_op op = (neo_op)neo_expr_node(m, extent)->op;
  if (op == NEO_OP_CONST || op == NEO_OP_SIZE)
    return extent;
  return neo_op2(m, NEO_OP_MAX, extent, neo_const_i64(m, 0));
}

/* Number of bytes of t. */
static int32_t plan_bytes(neo_plan *p, neo_tensor t) {
  neo_module *m = p->m;
  neo_expr n = neo_const_i64(m, neo_type_bytes(neo_tensor_type(m, t)));
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    n = neo_op2(m, NEO_OP_MUL, n, length(m, neo_tensor_extent(m, t, k)));
  return neo_plan_program(p, n);
}

static void add_copy(planner *q, int32_t to, int32_t from, neo_tensor copied, neo_tensor like) {
  if (to == from)
    return;
  neo_rt_step s = {.op = NEO_RT_STEP_COPY,
                   .arg = plan_bytes(q->p, like),
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

/* Notes the steps during which each tensor is alive. Lifetimes count groups; tensors that are
 * copied at the end live until then. */
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

/* ---- arguments of the caller */

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
    neo_tensor old = replaced(q, neo_list_tensor(q->m, q->entry->updates, k));
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
  neo_map *maps[] = {&q.outputs, &q.updates, &q.last_read, &q.last_write,
                     &q.buf_of,  &q.item_of, &q.same_place};
  for (size_t k = 0; k < sizeof maps / sizeof *maps; k++)
    neo_map_init(maps[k], q.scratch);
  for (uint32_t k = 0; entry && k < entry->outputs.n; k++)
    neo_map_set(&q.outputs, neo_list_at(q.m, entry->outputs, k), 1);
  for (uint32_t k = 0; entry && k < entry->updates.n; k++)
    neo_map_set(&q.updates, neo_list_at(q.m, entry->updates, k), 1);
  return q;
}

/* The bytes of the frame in this order, at least. */
static int64_t bound_of(const planner *q, plan_groups order) {
  planner trial = planner_new(q->env, q->entry);
  trial.order = order;
  for (uint32_t k = 0; k < n_outputs(q); k++) {
    int32_t buf;
    if (has_buf(q, output_at(q, k), &buf))
      set_buf(&trial, output_at(q, k), buf);
  }
  return plan_frame_bound(&trial);
}

/* Has the step a loop over an index that may end before its last iteration? */
static bool ends_early(const planner *q, const neo_rt_step *s) {
  bool asks = s->op == NEO_RT_STEP_LOOP && s->flags & NEO_RT_STEP_ASKS;
  return asks ? q->p->loops.at[s->arg].index >= 0
              : s->op == NEO_RT_STEP_RUN && q->env->in->kernels[s->arg].ends_early;
}

static void add_steps(planner *q, const neo_tensor *roots, size_t n, neo_rt_entry e) {
  q->order = plan_order(q->env, q->scratch, &q->updates, roots, n, q->entry, false);
  plan_bind_outputs(q);
  if (q->env->in->frugal) {
    plan_groups other = plan_order(q->env, q->scratch, &q->updates, roots, n, q->entry, true);
    q->order = bound_of(q, other) < bound_of(q, q->order) ? other : q->order;
  }
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
  for (int32_t k = 0; k < e.n_steps; k++)
    e.ends_early = e.ends_early || ends_early(q, &q->p->steps.at[e.first_step + k]);
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
  neo_tensors roots = {0};
  neo_entry_roots(q.m, q.scratch, &roots, entry);
  add_steps(
      &q, roots.at, roots.n,
      (neo_rt_entry){.name = neo_name_text(q.m->names, entry->name), .kind = kind_of(entry->kind)});
}

static void add_init(const plan_entry_env *env, const char *name, const neo_tensors *roots) {
  planner q = planner_new(env, NULL);
  add_steps(&q, roots->at, roots->n, (neo_rt_entry){.name = name, .kind = NEO_RT_ENTRY_INIT});
}

/* Records the tensors that an entry of initial values computes, for the runtime. */
static void note_roots(const plan_entry_env *env, const neo_tensors *roots) {
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
  neo_tensors all = {0}, follow = {0};
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
