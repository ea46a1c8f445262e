/* Each segment becomes groups and kernels as a program of its own would. Then loops that do not pay in
 * the plan, and segments beside them, are copied into one kernel. A slice that is stored is its whole
 * tensor's buffer, from an offset on that the loops' indices give. */
#include "codegen/recurrence.h"
#include "codegen/guard.h"
#include "codegen/loop/clone.h"
#include "codegen/make.h"
#include "codegen/plan/grid.h"
#include "codegen/sum_order.h"
#include "codegen/windows.h"
#include "fusion/form.h"
#include <assert.h>
#include <math.h>
#include <stdio.h>

typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_recurrence_options *options;
  neo_fuse_options fusion;
  neo_arena *a;
  neo_str *why;
  neo_status status;
  neo_prover *prover;
  neo_machine in_blocks; /* the machine, as kernels in loops over blocks of rows may use it */
  uint32_t n_chosen;     /* schedules so far */
  uint32_t n_blocks;     /* such loops around the segment at hand */
  neo_block_range range; /* of the innermost one */
  neo_sum_order order[NEO_BLOCKS_SERIAL + 1]; /* in which kernels add up, by that */
  int64_t *sizes; /* by number: the largest; of a loop's index one in the middle */
  neo_map uses;   /* tensor -> kernels of segments that have a buffer of it */
  /* While a kernel is made of several: */
  neo_kernel *k;
  neo_map buf_of; /* tensor -> buffer */
  neo_map index;  /* number of a loop's index -> its value, a neo_lx */
} maker;

static const neo_recurrence *loops_of(const maker *x) {
  return x->g->recurrence;
}

static const neo_machine *machine_of(const maker *x) {
  return x->options->machine;
}

/* ---- expressions over sizes */

static const neo_lx *size_value(const maker *x, neo_kernel *k, neo_size s) {
  uint64_t at;
  uint32_t number = neo_size_number(x->m, s);
  if (k == x->k && neo_map_get(&x->index, number, &at))
    return (const neo_lx *)(uintptr_t)at;
  return neo_lx_size(k, number);
}

static const neo_lx *number_of(const maker *x, neo_kernel *k, neo_expr e) {
  neo_node n = *neo_expr_node(x->m, e);
  const neo_lx *arg[3];
  int64_t c;
  if (neo_expr_is_int(x->m, e, &c))
    return n.type == NEO_BOOL_T ? neo_lx_const(k, NEO_BOOL_T, (neo_value){.i = c})
                                : neo_lx_int(k, c);
  if (n.op == NEO_OP_SIZE) {
    const neo_size_rec *r = neo_size_at(x->m, (neo_size){n.attr});
    return r->kind == NEO_SIZE_DERIVED ? number_of(x, k, r->value)
                                       : size_value(x, k, (neo_size){n.attr});
  }
  assert(n.arg.n <= 3 && "an expression over sizes");
  for (uint32_t i = 0; i < n.arg.n; i++)
    arg[i] = number_of(x, k, neo_list_expr(x->m, n.arg, i));
  return neo_lx_op(k, (neo_op)n.op, (neo_type)n.type, arg, n.arg.n);
}

/* ---- segments */

/* A segment's group is needed where the recurrence is. */
static neo_group under_conditions(maker *x, const neo_group *g) {
  neo_group y = *g;
  for (size_t k = 0; k < x->g->when.n; k++)
    neo_group_needed_where(x->m, x->a, &y, x->g->when.at[k]);
  return y;
}

/* A kernel of a round that changes nothing does nothing. */
static void put_under_alive(const maker *x, neo_kernel *k, neo_expr alive) {
  const neo_node *n = neo_expr_node(x->m, alive);
  uint32_t buf = 0;
  while (k->bufs.at[buf].tensor.i != n->attr || k->bufs.at[buf].use & NEO_BUF_SCRATCH)
    buf++;
  const neo_lx *at = number_of(x, k, neo_expr_arg(x->m, alive, 0));
  const neo_lx *there = neo_lx_op2(k, NEO_OP_LE, neo_lx_int(k, 0), at);
  neo_value yes = {.i = 1};
  neo_kernel_put_under(k, neo_lx_loadif(k, buf, at, there, neo_lx_const(k, NEO_BOOL_T, yes)));
}

static neo_kernel_step made_group(maker *x, const neo_group *of_segment, neo_expr alive) {
  const neo_machine *machine = x->n_blocks ? &x->in_blocks : machine_of(x);
  neo_group needed = under_conditions(x, of_segment), *g = &needed;
  neo_kernel_step s = {0};
  if (alive.i)
    neo_group_read_too(x->m, x->a, g, alive);
  if (x->n_blocks && x->range == NEO_BLOCKS_SERIAL) {
    g->in_order = true;
    g->form = NULL; /* which says so, too */
  }
  neo_schedule schedule = x->options->choose
                              ? x->options->choose(x->options->choose_ctx, x->m, g, machine)
                              : neo_schedule_default(x->m, g, machine);
  NEO_PUSH(x->a, &s.choices, x->n_chosen++);
  if (x->n_blocks)
    neo_sum_order_add(x->m, x->a, g, &schedule, &x->order[x->range]);
  x->status = neo_kernel_make(x->m, g, &schedule, machine->gpu, x->a, &s.kernel, x->why);
  if (alive.i && !x->status)
    put_under_alive(x, s.kernel, alive);
  return s;
}

/* The segment as an entry, which returns what is stored. */
static neo_status fuse_segment(maker *x, const neo_recurrence_step *s, neo_grouping *out) {
  neo_module *m = x->m;
  neo_entry_rec e = {.kind = NEO_ENTRY_FORWARD, .name = neo_name_of(m->names, "round")};
  uint32_t *id = NEO_NEW_ARRAY(x->a, uint32_t, s->roots.n + 1);
  for (size_t k = 0; k < s->roots.n; k++)
    id[k] = s->roots.at[k].i;
  e.outputs = neo_list_new(m, id, s->roots.n);
  for (size_t k = 0; k < s->roots.n; k++)
    id[k] = neo_tensor_at(m, s->roots.at[k])->name;
  e.names = neo_list_new(m, id, s->roots.n);
  neo_entry_rec *entries = m->entries.at;
  size_t n = m->entries.n, cap = m->entries.cap;
  m->entries.at = &e;
  m->entries.n = m->entries.cap = 1;
  neo_status status = neo_fuse_with(m, x->a, &x->fusion, out, NULL);
  m->entries.at = entries;
  m->entries.n = n;
  m->entries.cap = cap;
  return status;
}

static bool is_of(const neo_recurrence_step *s, const neo_group *g) {
  neo_def last = g->members.at[g->members.n - 1].def;
  for (size_t k = 0; k < s->defs.n; k++)
    if (s->defs.at[k].i == last.i)
      return true;
  return false;
}

static void add_segment(maker *x, neo_kernel_steps *out, const neo_recurrence_step *s) {
  neo_grouping grouping;
  neo_kernel_step where = {.hi = s->when};
  neo_kernel_steps *to = s->when.i ? &where.steps : out;
  x->status = fuse_segment(x, s, &grouping);
  for (size_t k = 0; !x->status && k < grouping.groups.n; k++)
    if (is_of(s, &grouping.groups.at[k])) /* others make initial values */
      NEO_PUSH(x->a, to, made_group(x, &grouping.groups.at[k], s->alive));
  if (where.steps.n) /* values of a round that nobody reads are not computed */
    NEO_PUSH(x->a, out, where);
}

static neo_kernel_steps segments_of(maker *x, const neo_recurrence_steps *from) {
  neo_kernel_steps out = {0};
  for (size_t k = 0; k < from->n && !x->status; k++) {
    const neo_recurrence_step *s = &from->at[k];
    if (!s->is_loop) {
      add_segment(x, &out, s);
      continue;
    }
    neo_kernel_step loop = {
        .index = s->index, .lo = s->lo, .hi = s->hi, .down = s->down, .blocks = s->blocks};
    neo_block_range around = x->range;
    x->n_blocks += s->blocks.first.i != 0;
    x->range = s->blocks.first.i ? s->blocks.range : around;
    loop.steps = segments_of(x, &s->steps);
    x->n_blocks -= s->blocks.first.i != 0;
    x->range = around;
    if (loop.steps.n)
      NEO_PUSH(x->a, &out, loop);
  }
  return out;
}

/* A vertex may be alone in its block in one batch and not in another: rows run alone where that gives the same bits. */
static void run_blocks_alike(neo_kernel_steps *steps) {
  size_t n = 0;
  for (size_t k = 0; k < steps->n; k++) {
    neo_kernel_step s = steps->at[k];
    if (s.blocks.range == NEO_BLOCKS_SERIAL)
      continue;
    s.blocks.range = NEO_BLOCKS_ALL;
    steps->at[n++] = s;
  }
  steps->n = n;
}

/* ---- prices */

static int64_t middle(const neo_size_rec *r) {
  return r->lo + (r->hi - r->lo) / 2;
}

static void take_rows(const maker *x, const neo_recurrence_steps *steps) {
  for (size_t k = 0; k < steps->n; k++) {
    const neo_tree_rows *b = &steps->at[k].blocks;
    if (b->first.i) {
      x->sizes[neo_size_number(x->m, b->begin)] = neo_size_at(x->m, b->begin)->usual;
      x->sizes[neo_size_number(x->m, b->end)] = neo_size_at(x->m, b->end)->usual;
    }
    take_rows(x, &steps->at[k].steps);
  }
}

static void take_sizes(maker *x) {
  x->sizes = NEO_NEW_ARRAY(x->a, int64_t, neo_size_numbers(x->m) + 1);
  for (uint32_t k = 1; k < x->m->sizes.n; k++) {
    const neo_size_rec *r = &x->m->sizes.at[k];
    x->sizes[neo_size_number(x->m, (neo_size){k})] = r->loop_index ? middle(r) : r->hi;
  }
  take_rows(x, &loops_of(x)->steps);
}

/* Seconds that a kernel saves when its units are divided, less what that costs. */
static double saved_by(const maker *x, const neo_kernel_step *s) {
  const neo_profile *p = &machine_of(x)->profile;
  double units = (double)neo_kernel_units(s->kernel, x->sizes), workers = p->workers;
  double share = units < workers ? units : workers;
  double alone_s = neo_kernel_work(s->kernel, x->sizes) / p->work_per_s;
  double saved_s = share > 1 ? alone_s * (1 - 1 / share) - p->launch_s : -p->launch_s;
  const neo_recurrence_options *o = x->options;
  return o->price ? o->price(o->choose_ctx, s->choices.at[0], saved_s) : saved_s;
}

static bool is_apart(const maker *x, const neo_kernel_step *s);

/* Does a loop, or a kernel, below these belong in the plan? */
static bool has_apart(const maker *x, const neo_kernel_steps *steps) {
  for (size_t k = 0; k < steps->n; k++)
    if (!steps->at[k].kernel && is_apart(x, &steps->at[k]))
      return true;
  return false;
}

static double saved_in(const maker *x, const neo_kernel_steps *steps) {
  double all = 0;
  for (size_t k = 0; k < steps->n; k++) {
    const neo_kernel_step *s = &steps->at[k];
    all += s->kernel    ? saved_by(x, s)
           : s->index.i ? -machine_of(x)->profile.launch_s
                        : saved_in(x, &s->steps);
  }
  return all;
}

/* Has each round one thread's work, one kernel after the other? */
static bool is_sequential(const neo_kernel_steps *steps) {
  for (size_t k = 0; k < steps->n; k++) {
    const neo_kernel_step *s = &steps->at[k];
    int64_t units;
    bool single = s->kernel ? !neo_kernel_threads(s->kernel) &&
                                  neo_lx_is_int(s->kernel->units, &units) && units <= 1
                            : !s->blocks.first.i && is_sequential(&s->steps);
    if (!single)
      return false;
  }
  return true;
}

static bool is_apart(const maker *x, const neo_kernel_step *s) {
  if (x->options->loops == NEO_LOOPS_EVERY)
    return true;
  if (x->options->loops == NEO_LOOPS_NONE)
    return false;
  if (machine_of(x)->gpu)
    return s->kernel || !is_sequential(&s->steps);
  if (s->kernel)
    return saved_by(x, s) > 0;
  return has_apart(x, &s->steps) || saved_in(x, &s->steps) > 0;
}

/* ---- buffers */

/* The tensor whose memory a segment's tensor t is, and where it begins there; null: where t does. */
static neo_tensor memory_of(const maker *x, neo_tensor t, const neo_slice **slice) {
  uint64_t whole;
  *slice = neo_recurrence_slice(loops_of(x), t);
  if (*slice && (*slice)->stored)
    return (*slice)->whole;
  *slice = NULL;
  if (neo_map_get(&loops_of(x)->memory, t.i, &whole))
    return (neo_tensor){(uint32_t)whole};
  return t;
}

static bool is_among(neo_tensor t, const neo_tensor *at, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (at[k].i == t.i)
      return true;
  return false;
}

static bool is_of_group(const maker *x, neo_tensor t) {
  return is_among(t, x->g->reads.at, x->g->reads.n) || is_among(t, x->g->roots.at, x->g->roots.n);
}

typedef struct {
  neo_tensor tensor;
  uint32_t n; /* kernels that use it */
  uint8_t use;
} used_tensor;
typedef NEO_VEC(used_tensor) used_tensors;

static void use_tensor(maker *x, used_tensors *out, neo_tensor t, uint8_t use) {
  size_t k = 0;
  while (k < out->n && out->at[k].tensor.i != t.i)
    k++;
  if (k == out->n)
    NEO_PUSH(x->a, out, (used_tensor){.tensor = t});
  out->at[k].use |= use;
  out->at[k].n++;
}

static void use_buffer(maker *x, used_tensors *out, const neo_kbuf *b) {
  const neo_slice *slice;
  use_tensor(x, out, memory_of(x, b->tensor, &slice), b->use);
}

static void use_steps(maker *x, used_tensors *out, const neo_kernel_step *s, size_t n) {
  for (size_t k = 0; k < n; k++) {
    const neo_kernel *kernel = s[k].kernel;
    for (size_t b = 0; kernel && b < kernel->bufs.n; b++)
      if (!(kernel->bufs.at[b].use & NEO_BUF_SCRATCH))
        use_buffer(x, out, &kernel->bufs.at[b]);
    if (s[k].blocks.first.i)
      use_tensor(x, out, s[k].blocks.first, NEO_BUF_READ);
    use_steps(x, out, s[k].steps.at, s[k].steps.n);
  }
}

static void count_uses(maker *x, const neo_kernel_steps *steps) {
  used_tensors all = {0};
  neo_map_init(&x->uses, x->a);
  use_steps(x, &all, steps->at, steps->n);
  for (size_t k = 0; k < all.n; k++)
    neo_map_set(&x->uses, all.at[k].tensor.i, all.at[k].n);
}

/* Elements at the largest extents, which need not be those of the largest sizes. */
static int64_t most_elements(maker *x, neo_tensor t) {
  neo_facts none = {0};
  int64_t n = 1, lo, hi;
  for (uint32_t k = 0; k < neo_tensor_rank(x->m, t); k++) {
    if (!neo_interval(x->prover, &none, neo_tensor_extent(x->m, t, k), &lo, &hi) ||
        __builtin_mul_overflow(n, hi > 1 ? hi : 1, &n)) {
      neo_str_addf(x->why, "the extents of %s have no bound",
                   neo_name_text(x->m->names, neo_tensor_at(x->m, t)->name));
      x->status = NEO_INTERNAL;
      return 1;
    }
  }
  return n;
}

static uint32_t add_scratch(maker *x, const char *name, uint8_t type, int64_t elements) {
  return neo_kernel_buf(x->k, (neo_kbuf){.name = name,
                                         .type = type,
                                         .use = NEO_BUF_SCRATCH,
                                         .scratch_elems = elements,
                                         .no_alias = true,
                                         .align = 64});
}

static void add_buffer(maker *x, const used_tensor *u, bool scratch) {
  const neo_tensor_rec *r = neo_tensor_at(x->m, u->tensor);
  const char *name = neo_name_text(x->m->names, r->name);
  neo_kbuf b = {.name = name, .type = r->type, .use = u->use, .tensor = u->tensor};
  b.no_alias = true;
  b.align = neo_type_bytes((neo_type)r->type);
  uint32_t buf = scratch ? add_scratch(x, name, r->type, most_elements(x, u->tensor))
                         : neo_kernel_buf(x->k, b);
  neo_map_set(&x->buf_of, u->tensor.i, buf);
}

/* Buffers that are read, those that are written, and what no other kernel uses, as scratch. On a GPU that is a
 * block's own memory, which is small. */
static void add_buffers(maker *x, const used_tensors *used) {
  for (int part = 0; part < 3; part++)
    for (size_t k = 0; k < used->n; k++) {
      const used_tensor *u = &used->at[k];
      uint64_t all = 0;
      neo_map_get(&x->uses, u->tensor.i, &all);
      bool own = !machine_of(x)->gpu && !is_of_group(x, u->tensor) && all == u->n;
      bool written = u->use & NEO_BUF_WRITE;
      if (part == (own ? 2 : written))
        add_buffer(x, u, own);
    }
}

/* Where the elements of a segment's buffer are in the kernel that is made. */
static neo_clone_buf place_of(maker *x, const neo_kbuf *from) {
  uint64_t buf = 0;
  neo_clone_buf y = {0, neo_lx_int(x->k, from->shift)};
  if (from->use & NEO_BUF_SCRATCH) {
    y.buf = add_scratch(x, from->name, from->type, from->scratch_elems);
    return y;
  }
  const neo_slice *slice;
  neo_tensor t = memory_of(x, from->tensor, &slice);
  if (slice)
    y.offset = neo_lx_op2(x->k, NEO_OP_ADD, y.offset, number_of(x, x->k, slice->offset));
  neo_map_get(&x->buf_of, t.i, &buf);
  y.buf = (uint32_t)buf;
  return y;
}

/* ---- a kernel of several steps */

static void clone_kernel(maker *x, neo_block *in, const neo_kernel *from) {
  neo_clone_buf *bufs = NEO_NEW_ARRAY(x->a, neo_clone_buf, from->bufs.n + 1);
  for (size_t k = 0; k < from->bufs.n; k++)
    bufs[k] = place_of(x, &from->bufs.at[k]);
  neo_kernel_clone_into(x->k, in, from, bufs, &x->index);
}

static void clone_steps(maker *x, neo_block *in, const neo_kernel_step *s, size_t n);

/* The rows of blocks `at` to the one before `end`, and where there are some. */
static neo_block *clone_rows(maker *x, neo_block *in, const neo_tree_rows *b, const neo_lx *at,
                             const neo_lx *end) {
  neo_kernel *k = x->k;
  neo_size size[] = {b->begin, b->end};
  const neo_lx *block[] = {at, end}, *row[2];
  uint64_t buf = 0;
  neo_map_get(&x->buf_of, b->first.i, &buf);
  for (int i = 0; i < 2; i++) {
    row[i] = neo_lx_load(k, (uint32_t)buf, block[i]);
    row[i] = neo_lx_op(k, NEO_OP_CAST, NEO_I64_T, &row[i], 1);
    neo_map_set(&x->index, neo_size_number(x->m, size[i]), (uint64_t)(uintptr_t)row[i]);
  }
  return &neo_ls_if(k, in, neo_lx_op2(k, NEO_OP_LT, row[0], row[1]))->branch.then;
}

/* A number that a loop may set again. */
typedef struct {
  uint32_t reg;
  const neo_lx *value;
} number_reg;

static number_reg number_begun(maker *x, neo_block *in, const char *name, const neo_lx *value) {
  neo_kernel *k = x->k;
  const neo_lx *zero = neo_lx_int(k, 0);
  neo_reg r = {.name = name, .type = NEO_I64_T, .rank = 1, .extent = {1}};
  uint32_t reg = neo_kernel_reg(k, r);
  neo_ls_reg(k, in, reg);
  neo_ls_set(k, in, reg, &zero, 1, value);
  return (number_reg){reg, neo_lx_reg(k, reg, &zero, 1)};
}

static void set_where(maker *x, neo_block *in, number_reg r, const neo_lx *cond,
                      const neo_lx *value) {
  const neo_lx *zero = neo_lx_int(x->k, 0);
  neo_ls_set(x->k, &neo_ls_if(x->k, in, cond)->branch.then, r.reg, &zero, 1, value);
}

/* The block behind the last one with rows. Where blocks begin is there up to it, and behind all (neo_tensor_rec.saturates). */
static const neo_lx *blocks_end(maker *x, neo_block *in, const neo_tree_rows *b, const neo_lx *lo,
                                const neo_lx *hi) {
  neo_kernel *k = x->k;
  uint64_t buf = 0;
  neo_map_get(&x->buf_of, b->first.i, &buf);
  number_reg end = number_begun(x, in, "end", lo);
  uint32_t var = neo_kernel_var(k, "b");
  const neo_lx *at = neo_lx_var(k, var);
  neo_block *body = &neo_ls_for(k, in, NEO_LOOP_SERIAL, var, lo, hi, 1)->loop.body;
  body = &neo_ls_if(k, body, neo_lx_op2(k, NEO_OP_EQ, end.value, at))->branch.then;
  const neo_lx *first = neo_lx_load(k, (uint32_t)buf, at), *all = neo_lx_load(k, (uint32_t)buf, hi);
  set_where(x, body, end, neo_lx_op2(k, NEO_OP_LT, first, all),
            neo_lx_op2(k, NEO_OP_ADD, at, neo_lx_int(k, 1)));
  return end.value;
}

/* The first block from which on all that follow, to `end`, have one row each. */
static const neo_lx *blocks_wide_end(maker *x, neo_block *in, const neo_tree_rows *b,
                                     const neo_lx *lo, const neo_lx *end) {
  neo_kernel *k = x->k;
  uint64_t buf = 0;
  neo_map_get(&x->buf_of, b->first.i, &buf);
  number_reg wide = number_begun(x, in, "wide", lo);
  uint32_t var = neo_kernel_var(k, "b");
  const neo_lx *at = neo_lx_var(k, var), *next = neo_lx_op2(k, NEO_OP_ADD, at, neo_lx_int(k, 1));
  neo_block *body = &neo_ls_for(k, in, NEO_LOOP_SERIAL, var, lo, end, 1)->loop.body;
  const neo_lx *first = neo_lx_load(k, (uint32_t)buf, at);
  const neo_lx *rows = neo_lx_op2(k, NEO_OP_SUB, neo_lx_load(k, (uint32_t)buf, next), first);
  const neo_lx *one = neo_lx_const(k, NEO_I32_T, (neo_value){.i = 1});
  set_where(x, body, wide, neo_lx_op2(k, NEO_OP_LT, one, rows), next);
  return wide.value;
}

/* The run of blocks of one row each, as one block. */
static void clone_serial(maker *x, neo_block *in, const neo_kernel_step *l) {
  neo_kernel *k = x->k;
  const neo_lx *lo = number_of(x, k, l->lo);
  const neo_lx *end = blocks_end(x, in, &l->blocks, lo, number_of(x, k, l->hi));
  const neo_lx *at = blocks_wide_end(x, in, &l->blocks, lo, end);
  neo_map_set(&x->index, neo_size_number(x->m, l->index), (uint64_t)(uintptr_t)at);
  neo_block *body = &neo_ls_if(k, in, neo_lx_op2(k, NEO_OP_LT, at, end))->branch.then;
  clone_steps(x, clone_rows(x, body, &l->blocks, at, end), l->steps.at, l->steps.n);
}

static void clone_loop(maker *x, neo_block *in, const neo_kernel_step *l) {
  neo_kernel *k = x->k;
  const neo_lx *lo = number_of(x, k, l->lo), *hi = number_of(x, k, l->hi);
  uint32_t var = neo_kernel_var(k, neo_name_text(x->m->names, neo_size_at(x->m, l->index)->name));
  if (l->blocks.first.i)
    hi = blocks_end(x, in, &l->blocks, lo, hi);
  if (l->blocks.range == NEO_BLOCKS_WIDE)
    hi = blocks_wide_end(x, in, &l->blocks, lo, hi);
  neo_ls *loop = neo_ls_for(k, in, NEO_LOOP_SERIAL, var, lo, hi, 1);
  const neo_lx *at = neo_lx_var(k, var);
  if (l->down) {
    const neo_lx *last =
        neo_lx_op2(k, NEO_OP_SUB, neo_lx_op2(k, NEO_OP_ADD, lo, hi), neo_lx_int(k, 1));
    at = neo_lx_op2(k, NEO_OP_SUB, last, at);
  }
  neo_map_set(&x->index, neo_size_number(x->m, l->index), (uint64_t)(uintptr_t)at);
  neo_block *body = &loop->loop.body;
  if (l->blocks.first.i)
    body = clone_rows(x, body, &l->blocks, at, neo_lx_op2(k, NEO_OP_ADD, at, neo_lx_int(k, 1)));
  clone_steps(x, body, l->steps.at, l->steps.n);
}

static void clone_steps(maker *x, neo_block *in, const neo_kernel_step *s, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (s[k].kernel)
      clone_kernel(x, in, s[k].kernel);
    else if (s[k].blocks.range == NEO_BLOCKS_SERIAL)
      clone_serial(x, in, &s[k]);
    else if (s[k].index.i)
      clone_loop(x, in, &s[k]);
    else
      clone_steps(x, &neo_ls_if(x->k, in, number_of(x, x->k, s[k].hi))->branch.then, s[k].steps.at,
                  s[k].steps.n);
}

/* On a GPU a block's threads make a loop of many rounds, where they can. */
static neo_kernel *by_threads(const maker *x, neo_kernel *k) {
  enum { LEAST_ROUNDS = 64 };
  neo_kernel *windows = neo_kernel_by_windows(k);
  bool many = windows && neo_kernel_number(k, k->body.at[0]->loop.hi, x->sizes) >= LEAST_ROUNDS;
  return many ? windows : k;
}

static void gather_choices(const maker *x, const neo_kernel_step *s, size_t n,
                           neo_kernel_step *out) {
  for (size_t k = 0; k < n; k++) {
    for (size_t i = 0; i < s[k].choices.n; i++)
      NEO_PUSH(x->a, &out->choices, s[k].choices.at[i]);
    gather_choices(x, s[k].steps.at, s[k].steps.n, out);
  }
}

static neo_kernel_step joined(maker *x, const neo_kernel_step *s, size_t n) {
  neo_kernel_step out = {.kernel = neo_kernel_new(x->a, x->g->name)};
  used_tensors used = {0};
  x->k = out.kernel;
  x->k->span = neo_def_at(x->m, x->g->members.at[0].def)->span;
  neo_map_init(&x->buf_of, x->a);
  neo_map_init(&x->index, x->a);
  neo_kernel_name_sizes(x->k, x->m);
  gather_choices(x, s, n, &out);
  use_steps(x, &used, s, n);
  add_buffers(x, &used);
  clone_steps(x, &x->k->body, s, n);
  x->k = NULL;
  if (machine_of(x)->gpu)
    out.kernel = by_threads(x, out.kernel);
  x->status = neo_kernel_verify(out.kernel, x->why);
  return out;
}

/* ---- a kernel of its own */

static neo_kernel_step alone(const maker *x, const neo_kernel_step *s) {
  neo_kernel *k = s->kernel;
  for (size_t b = 0; b < k->bufs.n; b++) {
    neo_kbuf *buf = &k->bufs.at[b];
    const neo_slice *slice;
    if (buf->use & NEO_BUF_SCRATCH)
      continue;
    buf->tensor = memory_of(x, buf->tensor, &slice);
    if (buf->shift || slice)
      buf->origin = neo_lx_int(k, buf->shift);
    if (slice)
      buf->origin = neo_lx_op2(k, NEO_OP_ADD, buf->origin, number_of(x, k, slice->offset));
    buf->shift = 0;
  }
  return *s;
}

static bool is_kernel_of_its_own(const maker *x, const neo_kernel_steps *steps, size_t at) {
  bool before = at > 0 && !is_apart(x, &steps->at[at - 1]);
  bool after = at + 1 < steps->n && !is_apart(x, &steps->at[at + 1]);
  return steps->at[at].kernel && (is_apart(x, &steps->at[at]) || (!before && !after));
}

/* Steps of the plan: loops that belong there; runs of others become a kernel each. */
static neo_kernel_steps divided(maker *x, const neo_kernel_steps *steps) {
  neo_kernel_steps out = {0};
  for (size_t k = 0; k < steps->n && !x->status;) {
    neo_kernel_step s = steps->at[k];
    size_t end = k + 1;
    if (is_kernel_of_its_own(x, steps, k)) {
      NEO_PUSH(x->a, &out, alone(x, &s));
    } else if (is_apart(x, &s)) {
      s.steps = divided(x, &s.steps);
      NEO_PUSH(x->a, &out, s);
    } else {
      while (end < steps->n && !is_apart(x, &steps->at[end]))
        end++;
      NEO_PUSH(x->a, &out, joined(x, &steps->at[k], end - k));
    }
    k = end;
  }
  return out;
}

neo_status neo_recurrence_kernels(neo_module *m, const neo_group *g,
                                  const neo_recurrence_options *options, neo_arena *a,
                                  neo_kernel_steps *out, neo_str *why) {
  maker x = {.m = m, .g = g, .options = options, .fusion = *options->fusion, .a = a, .why = why};
  x.fusion.off |=
      1u << NEO_FUSE_CACHE | 1u << NEO_FUSE_GRID | 1u << NEO_FUSE_COLUMNS | 1u << NEO_FUSE_LOOPS;
  x.in_blocks = *options->machine;
  x.in_blocks.warpgroups = false; /* a persistent kernel takes none (plan/cooperative.c) */
  x.in_blocks.few_rows = true;
  take_sizes(&x);
  neo_kernel_steps segments = segments_of(&x, &loops_of(&x)->steps);
  if (x.status)
    return x.status;
  bool alike = neo_sum_orders_equal(&x.order[NEO_BLOCKS_WIDE], &x.order[NEO_BLOCKS_SERIAL]);
  if (options->one_row_blocks ? options->one_row_blocks == NEO_ROWS_IN_BLOCKS : !alike)
    run_blocks_alike(&segments);
  count_uses(&x, &segments);
  x.prover = neo_prover_new(m);
  *out = divided(&x, &segments);
  if (!out->n && !x.status) /* there are no rounds */
    NEO_PUSH(a, out, joined(&x, NULL, 0));
  neo_prover_free(x.prover);
  return x.status;
}
