/* See fused_loops.h. */
#include "codegen/fused_memory.h"
#include "codegen/fused_rounds.h"
#include "codegen/loop/clone.h"
#include "codegen/make.h"
#include "fusion/form.h"
#include "schedule/keyed_scan/keyed_scan.h"
#include "schedule/segment/segment.h"

enum { MOST_UNROLLED = 4 }; /* rounds of loops at a position */

typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_recurrence_options *options;
  neo_arena *a;
  neo_str *why;
  neo_status status;
  neo_position_loops open;  /* which share a loop */
  neo_counting_sorts sorts; /* among them */
  neo_in_places in_place;
  neo_kernel_tree *out;
  neo_trees parts; /* of its tree */
  neo_map index;   /* empty */
} maker;

/* ---- a kernel of each group */

static neo_schedule serial_segment(void *ctx, neo_module *m, const neo_group *g,
                                   const neo_machine *machine) {
  (void)ctx;
  return neo_schedule_serial(m, g, machine);
}

static bool reduces(const neo_form *f) {
  bool any = false;
  for (size_t k = 0; k < f->stages.n; k++)
    any = any || f->stages.at[k].accs.n;
  return any;
}

/* A kernel that runs along positions; without a loop: each of its elements asks for all. */
static neo_position_loop one_loop(maker *x, const neo_group *g) {
  neo_position_loop none = {.g = g};
  neo_kernel_tree tree = {0};
  neo_kernel *k = NULL;
  if (g->recurrence) {
    neo_recurrence_options o = *x->options;
    o.loops = NEO_LOOPS_NONE;
    o.schedules =
        neo_recurrence_schedules(x->m, g->recurrence, o.machine, serial_segment, NULL, x->a);
    x->status = neo_recurrence_kernels(x->m, g, &o, x->a, &tree, x->why);
    if (x->status || tree.root->kind != NEO_TREE_MARK)
      return none;
    return neo_position_loop_of(g, tree.kernels.at[0].kernel);
  }
  neo_schedule s = neo_schedule_serial(x->m, g, x->options->machine);
  neo_segment by_keys;
  if (s.strategy == NEO_STRATEGY_LOOPS && reduces(neo_group_form(x->m, g)))
    return none;
  neo_keyed_scan running;
  if (s.strategy == NEO_STRATEGY_KEYED_SCAN &&
      (!neo_keyed_scan_of(x->m, g, &running) || !running.plain))
    return none; /* it goes along other axes, or the other way */
  if (s.strategy == NEO_STRATEGY_SEGMENT && (!neo_segment_of(x->m, g, &by_keys) || !by_keys.ends))
    return none; /* its last loop is along rows */
  x->status = neo_kernel_make(x->m, g, &s, false, x->a, &k, x->why);
  neo_position_loop y = x->status ? none : neo_position_loop_of(g, k);
  for (uint32_t b = 0; y.loop && s.strategy == NEO_STRATEGY_KEYED_SCAN && b < k->bufs.n; b++)
    y.table = k->bufs.at[b].use & NEO_BUF_SCRATCH ? b + 1 : y.table;
  return y;
}

static void add_kernel(maker *x, neo_kernel *k) {
  NEO_PUSH(x->a, &x->out->kernels, (neo_tree_kernel){.kernel = k});
  const neo_tree *t = neo_tree_of_leaf(x->a, (neo_tree_leaf){0});
  NEO_PUSH(x->a, &x->parts, neo_tree_mark(x->a, (uint32_t)x->out->kernels.n - 1, t));
}

/* As if the group were on its own. */
static void add_apart(maker *x, const neo_group *g) {
  neo_kernel *k = NULL;
  if (g->recurrence) {
    neo_recurrence_options o = *x->options;
    o.schedules =
        neo_recurrence_schedules(x->m, g->recurrence, o.machine, o.choose, o.choose_ctx, x->a);
    x->status = neo_recurrence_kernels(x->m, g, &o, x->a, x->out, x->why);
    NEO_PUSH(x->a, &x->parts, x->out->root);
    return;
  }
  neo_schedule schedule = neo_schedule_default(x->m, g, x->options->machine);
  x->status = neo_kernel_make(x->m, g, &schedule, false, x->a, &k, x->why);
  for (size_t b = 0; !x->status && b < k->bufs.n; b++) {
    neo_kbuf *buf = &k->bufs.at[b];
    if (buf->shift) /* the plan gives whole tensors to the kernels of loops */
      buf->origin = neo_lx_int(k, buf->shift);
    buf->shift = 0;
  }
  add_kernel(x, k);
}

/* ---- sums by keys */

/* The expression of the segmented sum's source at shared axis 0. */
static neo_expr at_source(neo_module *m, const neo_form *f, neo_expr e) {
  neo_expr by[NEO_FORM_MAX_AXES] = {{0}};
  by[f->axes.n] = neo_axis_ref(m, 0);
  return e.i ? neo_expr_subst_axes(m, e, by, (uint32_t)f->axes.n + 1) : e;
}

/* Are the sums, at each position, what the table of the running sum has then? */
static bool is_table_of(neo_module *m, const neo_group *sums, const neo_group *running) {
  neo_segment s;
  neo_keyed_scan k;
  if (sums->recurrence || running->recurrence || !neo_segment_of(m, sums, &s) ||
      !neo_keyed_scan_of(m, running, &k) || !k.plain)
    return false;
  const neo_form *f = neo_group_form(m, sums), *g = neo_group_form(m, running);
  const neo_stage *stage = &f->stages.at[0];
  const neo_form_acc *acc = &stage->accs.at[0];
  bool is = f->axes.n == 1 && stage->axes.n == 1 && stage->axes.at[0].hi.i == g->axes.at[0].hi.i &&
            f->axes.at[0].hi.i == k.n.i && neo_segment_is_sum(f, &s) &&
            !s.pass[0].before.i && !s.pass[0].rest.i && !s.rows &&
            acc->kind == NEO_RED_SUM && acc->type == g->stages.at[0].accs.at[0].type &&
            neo_expr_node(m, f->stages.at[1].outs.at[0].value)->op == NEO_OP_ACC;
  return is && neo_cast(m, NEO_I64_T, at_source(m, f, s.pass[0].key[0].from)).i == k.key.i &&
         at_source(m, f, acc->body).i == k.value.i;
}

static bool reads_any(const neo_group *g, const neo_position_loop *of, size_t n) {
  for (size_t k = 0; k < n; k++)
    for (size_t r = 0; r < of[k].g->roots.n; r++)
      for (size_t i = 0; i < g->reads.n; i++)
        if (g->reads.at[i].i == of[k].g->roots.at[r].i)
          return true;
  return false;
}

/* Puts a running sum right before the loop that makes its table, if there is one: its rounds are the same. */
static void add_open(maker *x, neo_position_loop y) {
  size_t at = x->open.n;
  for (size_t k = 0; k < x->open.n && y.table; k++)
    if (x->open.at[k].factor == y.factor && is_table_of(x->m, x->open.at[k].g, y.g) &&
        !reads_any(y.g, &x->open.at[k], x->open.n - k)) {
      y.sums = x->open.at[k].g->roots.at[0];
      at = k;
    }
  NEO_PUSH(x->a, &x->open, y);
  for (size_t k = x->open.n - 1; k > at; k--)
    x->open.at[k] = x->open.at[k - 1];
  x->open.at[at] = y;
}

/* ---- one kernel */

static void find_sorts(maker *x) {
  neo_counting_sort s;
  x->sorts.n = 0;
  for (size_t i = 0; i < x->open.n; i++)
    if (!x->open.at[i].sums.i && neo_counting_sort_of(x->m, &x->open, i, x->a, &s)) {
      neo_counting_sort_start(&s, &x->open);
      NEO_PUSH(x->a, &x->sorts, s);
    }
}

/* The sort whose loop it is; null: it is another loop. */
static const neo_counting_sort *sort_at(const maker *x, size_t i) {
  for (size_t k = 0; k < x->sorts.n; k++)
    if (x->sorts.at[k].at == i)
      return &x->sorts.at[k];
  return NULL;
}

/* Does the loop make what a sort's table has before its rounds (find_starts), and nothing else? */
static bool makes_starts(const maker *x, size_t i) {
  bool makes = false;
  for (size_t k = 0; k < x->sorts.n; k++)
    makes = makes || x->sorts.at[k].first_at == i || x->sorts.at[k].end_at == i;
  return makes;
}

/* Is the loop a part of a sort? These begin as begin_sums() says. */
static bool is_sorted(const maker *x, size_t i) {
  return sort_at(x, i) != NULL || makes_starts(x, i);
}

/* The buffer of the tensor in the kernel that is made. */
static uint32_t buffer_of(maker *x, neo_kernel *k, neo_tensor t, uint8_t use) {
  for (size_t i = 0; i < x->sorts.n; i++)
    if (x->sorts.at[i].first.i == t.i)
      t = x->sorts.at[i].end;
  neo_tensor old = {0};
  for (size_t i = 0; i < x->in_place.n; i++)
    if (x->in_place.at[i].old.i == t.i || x->in_place.at[i].made.i == t.i) {
      t = x->in_place.at[i].made;
      old = x->in_place.at[i].old;
    }
  for (uint32_t b = 0; b < k->bufs.n; b++)
    if (k->bufs.at[b].tensor.i == t.i) {
      k->bufs.at[b].use |= use;
      return b;
    }
  const neo_tensor_rec *r = neo_tensor_at(x->m, t);
  return neo_kernel_buf(k, (neo_kbuf){.name = neo_name_text(x->m->names, r->name),
                                      .type = r->type,
                                      .use = use,
                                      .tensor = t,
                                      .over = old,
                                      .no_alias = true,
                                      .align = neo_type_bytes((neo_type)r->type)});
}

/* Scratch comes behind all other buffers. */
static void add_buffers(maker *x, neo_kernel *k, neo_clone_buf **of) {
  for (int scratch = 0; scratch < 2; scratch++)
    for (size_t i = 0; i < x->open.n; i++) {
      const neo_position_loop *y = &x->open.at[i];
      const neo_counting_sort *sort = sort_at(x, i);
      for (uint32_t b = 0; b < y->k->bufs.n; b++) {
        const neo_kbuf *from = &y->k->bufs.at[b];
        bool own = from->use & NEO_BUF_SCRATCH, table = own && y->table == b + 1;
        if (own != (scratch == 1))
          continue;
        uint32_t to = !own                 ? buffer_of(x, k, from->tensor, from->use)
                      : table && y->sums.i ? buffer_of(x, k, y->sums, NEO_BUF_READ)
                      : table && sort ? buffer_of(x, k, sort->end, NEO_BUF_READ | NEO_BUF_WRITE)
                                      : neo_kernel_buf(k, *from);
        of[i][b] = (neo_clone_buf){to, neo_lx_int(k, from->shift)};
      }
    }
}

/* The starts of sorts, in whose tables elements find their places: end[v] = sum; sum += count[v]. A count is of the
 * elements at all positions, so that it was made before the loop. */
static void find_starts(maker *x, neo_kernel *k, neo_before_rounds *before) {
  for (size_t s = 0; s < x->sorts.n; s++) {
    const neo_counting_sort *y = &x->sorts.at[s];
    neo_running_start start = {y->sum, buffer_of(x, k, y->count, NEO_BUF_READ),
                               buffer_of(x, k, y->end, NEO_BUF_WRITE)};
    NEO_PUSH(x->a, &before->starts, start);
  }
}

static void begin_sums(maker *x, neo_kernel *k) {
  for (size_t s = 0; s < x->sorts.n; s++) {
    neo_type type = (neo_type)neo_tensor_at(x->m, x->sorts.at[s].end)->type;
    const neo_lx *zero = neo_lx_int(k, 0);
    x->sorts.at[s].sum = neo_kernel_reg(
        k, (neo_reg){.name = "sum", .type = (uint8_t)type, .rank = 1, .extent = {1}});
    neo_ls_reg(k, &k->body, x->sorts.at[s].sum);
    neo_ls_set(k, &k->body, x->sorts.at[s].sum, &zero, 1,
               neo_lx_const(k, type, (neo_value){.i = 0}));
  }
}

/* The rounds of a position: of loop i, and of those behind it as far as it reads sums by keys that they make, which
 * grow from round to round. Returns the one behind. */
static size_t add_rounds(maker *x, neo_kernel *k, neo_block *in, neo_cloner **c, size_t i,
                         const neo_lx *at) {
  int64_t factor = x->open.at[i].factor;
  size_t end = i + 1;
  if (makes_starts(x, i))
    return end;
  while (x->open.at[end - 1].sums.i)
    end++;
  if (factor > 1) {
    uint32_t round = neo_kernel_var(k, "k");
    const neo_lx *n = neo_lx_int(k, factor);
    in = &neo_ls_for(k, in, NEO_LOOP_UNROLL, round, neo_lx_int(k, 0), n, 1)->loop.body;
    at = neo_lx_op2(k, NEO_OP_ADD, neo_lx_op2(k, NEO_OP_MUL, at, n), neo_lx_var(k, round));
  }
  for (; i < end; i++) {
    neo_clone_var(c[i], x->open.at[i].loop->loop.var, at);
    neo_clone_unrolled(c[i], MOST_UNROLLED);
    neo_clone_block(c[i], in, &x->open.at[i].loop->loop.body);
  }
  return end;
}

static bool are_apart(const neo_kernel *k) {
  for (uint32_t b = 0; b < k->bufs.n; b++)
    if (!k->bufs.at[b].no_alias)
      return false;
  return true;
}

/* By buffer: is it a tensor that no entry returns and no other definition reads? */
static bool *read_here(maker *x, const neo_kernel *k) {
  const bool *elsewhere = neo_fused_read_elsewhere(x->m, &x->open, x->a);
  bool *own = NEO_NEW_ARRAY(x->a, bool, k->bufs.n + 1);
  for (uint32_t b = 0; b < k->bufs.n; b++)
    own[b] = k->bufs.at[b].tensor.i && !elsewhere[k->bufs.at[b].tensor.i];
  return own;
}

static neo_kernel *fused(maker *x) {
  neo_kernel *k = neo_kernel_new(x->a, x->open.at[0].g->name);
  neo_clone_buf **of = NEO_NEW_ARRAY(x->a, neo_clone_buf *, x->open.n);
  neo_cloner **c = NEO_NEW_ARRAY(x->a, neo_cloner *, x->open.n);
  k->span = x->open.at[0].k->span;
  neo_kernel_name_sizes(k, x->m);
  find_sorts(x);
  neo_fused_in_place(x->m, x->options->all, x->g, &x->open, &x->sorts, x->a, &x->in_place);
  for (size_t i = 0; i < x->open.n; i++)
    of[i] = NEO_NEW_ARRAY(x->a, neo_clone_buf, x->open.at[i].k->bufs.n + 1);
  add_buffers(x, k, of);
  bool *zero = NEO_NEW_ARRAY(x->a, bool, k->bufs.n + 1);
  for (size_t i = 0; i < x->open.n; i++) {
    const neo_position_loop *y = &x->open.at[i];
    neo_tensor late = are_apart(k) ? neo_fused_zeroed(x->m, &x->open, i) : (neo_tensor){0};
    neo_block head = y->k->body;
    head.n--;
    c[i] = neo_cloner_new(k, y->k, of[i], &x->index);
    if (y->sums.i)
      neo_clone_without(c[i], y->table - 1);
    if (late.i)
      zero[buffer_of(x, k, late, 0)] = true;
    else if (!is_sorted(x, i))
      neo_clone_block(c[i], &k->body, &head);
  }
  begin_sums(x, k);
  uint32_t var = neo_kernel_var(k, "v");
  const neo_lx *n = neo_clone_expr(c[0], x->open.at[0].n);
  neo_ls *loop = neo_ls_for(k, &k->body, NEO_LOOP_SERIAL, var, neo_lx_int(k, 0), n, 1);
  for (size_t i = 0; i < x->open.n;)
    i = add_rounds(x, k, &loop->loop.body, c, i, neo_lx_var(k, var));
  neo_before_rounds before = {.zero = zero};
  find_starts(x, k, &before);
  if (are_apart(k))
    neo_fused_rounds(k, loop, read_here(x, k));
  neo_fused_runs(k, loop, &before);
  x->status = neo_kernel_verify(k, x->why);
  return k;
}

static void close(maker *x) {
  if (x->open.n == 1)
    add_apart(x, x->open.at[0].g);
  else if (x->open.n)
    add_kernel(x, fused(x));
  x->open.n = 0;
}

neo_status neo_fused_loops_kernels(neo_module *m, const neo_group *g,
                                   const neo_recurrence_options *options, neo_arena *a,
                                   neo_kernel_tree *out, neo_str *why) {
  maker x = {.m = m, .g = g, .options = options, .a = a, .why = why, .out = out};
  *out = (neo_kernel_tree){0};
  neo_map_init(&x.index, a);
  for (size_t k = 0; k < g->loops.n && !x.status; k++) {
    const neo_group *one = &g->loops.at[k];
    neo_position_loop y = {.g = one};
    if (options->loops != NEO_LOOPS_EVERY)
      y = one_loop(&x, one);
    if (x.status)
      break;
    if (!neo_position_loop_joins(m, x.open.at, x.open.n, &y))
      close(&x);
    if (x.status)
      break;
    if (y.loop)
      add_open(&x, y);
    else
      add_apart(&x, one);
  }
  if (!x.status)
    close(&x);
  out->root = neo_tree_sequence(a, &x.parts);
  return x.status;
}
