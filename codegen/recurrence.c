/* Kernels of a recurrence (recurrence.h). First each group of a segment becomes a kernel, like a
 * group of a program. Then loops that do not pay in the plan, and neighbouring segments, are copied
 * into one kernel. A stored slice is a part of the buffer of its whole tensor, at an offset that
 * depends on the loops' indices. */
#include "codegen/recurrence.h"
#include "codegen/guard.h"
#include "codegen/loop/clone.h"
#include "codegen/make.h"
#include "codegen/plan/grid.h"
#include "codegen/sum_order.h"
#include "fusion/form.h"
#include <assert.h>

typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_recurrence_options *options;
  neo_arena *a;
  neo_str *why;
  neo_status status;
  neo_prover *prover;
  neo_kernel_tree *out;
  NEO_VEC(neo_tree_kernel)
  made;                  /* groups' kernels; leaves have their numbers until kernels are joined */
  uint32_t n_blocks;     /* loops over blocks of rows around the current segment */
  neo_block_range range; /* range of the innermost band */
  neo_sum_order order[NEO_BLOCKS_RANGES]; /* [range] the order in which kernels add up */
  NEO_VEC(neo_expr) asked;                /* conditions that the current kernel tests, on a GPU */
  int64_t *sizes; /* [size] its largest value; for a loop's index, one in the middle */
  neo_map uses;   /* tensor -> kernels of segments that have a buffer of it */
  /* While several kernels are combined into one: */
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

static const neo_lx *number_of(const maker *x, neo_kernel *k, neo_expr e);

/* The buffer of a tensor in a combined kernel, or in one of the kernels that it combines. */
static uint32_t buffer_of(const maker *x, const neo_kernel *k, neo_tensor t) {
  uint64_t buf = 0;
  if (k == x->k) {
    bool has = neo_map_get(&x->buf_of, t.i, &buf);
    assert(has && "a kernel has what its conditions read");
    (void)has;
    return (uint32_t)buf;
  }
  while (k->bufs.at[buf].tensor.i != t.i || k->bufs.at[buf].use & NEO_BUF_SCRATCH)
    buf++;
  return (uint32_t)buf;
}

/* The condition of a guard or early exit (fusion/recurrence.h): an element of a buffer of the
 * kernel; elements outside of the tensor are true. Or the bound of a band, which is one of its
 * tensor. */
static const neo_lx *element_of(const maker *x, neo_kernel *k, const neo_node *n) {
  const neo_lx *at = neo_lx_int(k, 0), *zero = at, *there = NULL;
  neo_value yes = {.i = 1};
  neo_tensor t = {n->attr};
  for (uint32_t i = 0; i < neo_tensor_rank(x->m, t); i++) {
    const neo_lx *index = number_of(x, k, neo_list_expr(x->m, n->arg, i));
    const neo_lx *inside = neo_lx_op2(k, NEO_OP_LE, zero, index);
    at = neo_lx_op2(k, NEO_OP_MUL, at, number_of(x, k, neo_tensor_extent(x->m, t, i)));
    at = neo_lx_op2(k, NEO_OP_ADD, at, index);
    there = there ? neo_lx_op2(k, NEO_OP_AND, there, inside) : inside;
  }
  if (n->op == NEO_OP_LOAD)
    return neo_lx_load(k, buffer_of(x, k, t), at);
  return neo_lx_loadif(k, buffer_of(x, k, t), at, there, neo_lx_const(k, NEO_BOOL_T, yes));
}

static const neo_lx *number_of(const maker *x, neo_kernel *k, neo_expr e) {
  neo_node n = *neo_expr_node(x->m, e);
  const neo_lx *arg[3];
  int64_t c;
  if (n.op == NEO_OP_LOAD || n.op == NEO_OP_LOAD_ELSE)
    return element_of(x, k, &n);
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

static const neo_tree *made_group(maker *x, const neo_group *g) {
  neo_tree_kernel k = {0};
  neo_tree_leaf leaf = {.number = (uint32_t)x->made.n};
  const neo_schedule *schedule = &x->options->schedules[x->made.n];
  NEO_PUSH(x->a, &k.choices, leaf.number);
  if (x->n_blocks)
    neo_sum_order_add(x->m, x->a, g, schedule, &x->order[x->range]);
  x->status = neo_kernel_make(x->m, g, schedule, machine_of(x), x->a, &k.kernel, x->why);
  for (size_t i = 0; i < x->asked.n && !x->status; i++)
    neo_kernel_put_under(k.kernel, number_of(x, k.kernel, x->asked.at[i]));
  NEO_PUSH(x->a, &x->made, k);
  return neo_tree_of_leaf(x->a, leaf);
}

static void lower_tree(maker *x, neo_trees *to, const neo_tree *t);

static void lower_segment(maker *x, neo_trees *to, const neo_recurrence_segment *s) {
  for (size_t k = 0; !x->status && k < s->groups.n; k++)
    NEO_PUSH(x->a, to, made_group(x, &s->groups.at[k]));
}

/* A guard around the kernels of a condition, so that values which no definition reads are not
 * computed. On a GPU the kernels themselves test conditions that depend on data. */
static void lower_guard(maker *x, neo_trees *to, const neo_tree *t) {
  neo_trees in = {0};
  if (machine_of(x)->gpu && neo_recurrence_asks(x->m, t)) {
    NEO_PUSH(x->a, &x->asked, t->condition);
    lower_tree(x, to, t->children.at[0]);
    x->asked.n--;
    return;
  }
  lower_tree(x, &in, t->children.at[0]);
  if (in.n)
    NEO_PUSH(x->a, to, neo_tree_guard(x->a, t->condition, neo_tree_sequence(x->a, &in)));
}

/* The band around its body, with its early exit. */
static const neo_tree *band_around(const maker *x, const neo_tree *t, const neo_tree *child) {
  neo_expr unless = neo_recurrence_exit(t);
  neo_trees in = {0};
  if (unless.i)
    NEO_PUSH(x->a, &in, neo_tree_exit(x->a, unless));
  NEO_PUSH(x->a, &in, child);
  return neo_tree_of_band(x->a, t->band, neo_tree_sequence(x->a, &in));
}

static void lower_band(maker *x, neo_trees *to, const neo_tree *t) {
  const neo_tree_rows *rows = &t->band.rows;
  neo_trees in = {0};
  neo_block_range around = x->range;
  x->n_blocks += rows->first.i != 0;
  if (rows->first.i && !(rows->range == NEO_BLOCKS_WHOLE && x->n_blocks > 1))
    x->range = rows->range; /* lists of a block's rows are as these */
  lower_tree(x, &in, t->children.at[0]);
  x->n_blocks -= rows->first.i != 0;
  x->range = around;
  if (in.n)
    NEO_PUSH(x->a, to, band_around(x, t, neo_tree_sequence(x->a, &in)));
}

/* Adds the tree with a leaf for each kernel. */
static void lower_tree(maker *x, neo_trees *to, const neo_tree *t) {
  if (t->kind == NEO_TREE_LEAF)
    lower_segment(x, to, &loops_of(x)->segments.at[t->leaf.number]);
  else if (t->kind == NEO_TREE_GUARD)
    lower_guard(x, to, t);
  else if (t->kind == NEO_TREE_BAND)
    lower_band(x, to, t);
  else
    for (size_t k = 0; k < t->children.n && !x->status; k++)
      lower_tree(x, to, t->children.at[k]);
}

static bool is_band(const neo_tree *t) {
  return t->kind == NEO_TREE_BAND;
}

/* Does the band run blocks of rows? */
static bool has_rows(const neo_tree *t) {
  return is_band(t) && t->band.rows.first.i;
}

/* The loops with all blocks, wide and single ones, in one loop. They replace separate loops for
 * single rows if these add up in another order: a vertex may be alone in its block in one batch and
 * not in another, and its bits must not depend on that. */
static neo_trees all_blocks_alike(maker *x, const neo_trees *from) {
  neo_trees out = {0};
  for (size_t k = 0; k < from->n; k++) {
    const neo_tree *t = from->at[k];
    neo_tree_band b = t->band;
    b.rows.range = NEO_BLOCKS_ALL;
    if (!has_rows(t) || t->band.rows.range == NEO_BLOCKS_ALL)
      NEO_PUSH(x->a, &out, t);
    else if (t->band.rows.range == NEO_BLOCKS_WIDE)
      NEO_PUSH(x->a, &out, neo_tree_of_band(x->a, b, t->children.at[0]));
  }
  return out;
}

/* The children of a band after its exit, or of a guard, in order. */
static neo_trees parts_of(const maker *x, const neo_tree *t) {
  const neo_tree *child = t->children.at[0];
  neo_trees parts = {0};
  bool many = child->kind == NEO_TREE_SEQUENCE;
  for (size_t k = 0; k < (many ? child->children.n : 1); k++) {
    const neo_tree *part = many ? child->children.at[k] : child;
    if (part->kind != NEO_TREE_EXIT)
      NEO_PUSH(x->a, &parts, part);
  }
  return parts;
}

static const neo_tree_kernel *kernel_at(const maker *x, const neo_tree *leaf) {
  return &x->made.at[leaf->leaf.number];
}

/* ---- prices */

static int64_t middle(const neo_size_rec *r) {
  return r->lo + (r->hi - r->lo) / 2;
}

static void take_rows(const maker *x, const neo_tree *t) {
  const neo_tree_rows *r = &t->band.rows;
  if (has_rows(t)) {
    x->sizes[neo_size_number(x->m, r->begin)] = neo_size_at(x->m, r->begin)->usual;
    x->sizes[neo_size_number(x->m, r->end)] = neo_size_at(x->m, r->end)->usual;
  }
  for (size_t k = 0; k < t->children.n; k++)
    take_rows(x, t->children.at[k]);
}

static void take_sizes(maker *x) {
  x->sizes = NEO_NEW_ARRAY(x->a, int64_t, neo_size_numbers(x->m) + 1);
  for (uint32_t k = 1; k < x->m->sizes.n; k++) {
    const neo_size_rec *r = &x->m->sizes.at[k];
    x->sizes[neo_size_number(x->m, (neo_size){k})] = r->loop_index ? middle(r) : r->hi;
  }
  take_rows(x, loops_of(x)->tree.root);
}

/* Seconds that a kernel saves if workers divide its units, less the price of a barrier. */
static double saved_by(const maker *x, const neo_tree_kernel *k) {
  const neo_profile *p = &machine_of(x)->profile;
  double units = (double)neo_kernel_units(k->kernel, x->sizes), workers = p->workers;
  double share = units < workers ? units : workers;
  double alone_s = neo_kernel_work(k->kernel, x->sizes) / p->work_per_s;
  double saved_s = share > 1 ? alone_s * (1 - 1 / share) - p->launch_s : -p->launch_s;
  const neo_recurrence_options *o = x->options;
  return o->price ? o->price(o->price_ctx, k->choices.at[0], saved_s) : saved_s;
}

static bool is_separate(const maker *x, const neo_tree *t);

/* Is one of the parts a loop of the plan, or does it contain one? */
static bool has_separate(const maker *x, const neo_trees *parts) {
  for (size_t k = 0; k < parts->n; k++)
    if (parts->at[k]->kind != NEO_TREE_LEAF && is_separate(x, parts->at[k]))
      return true;
  return false;
}

static double saved_in(const maker *x, neo_trees parts) {
  double all = 0;
  for (size_t k = 0; k < parts.n; k++) {
    const neo_tree *t = parts.at[k];
    all += t->kind == NEO_TREE_LEAF ? saved_by(x, kernel_at(x, t))
           : is_band(t)             ? -machine_of(x)->profile.launch_s
                                    : saved_in(x, parts_of(x, t));
  }
  return all;
}

/* Has each iteration one thread's work, one kernel after the other? */
static bool is_sequential(const maker *x, const neo_tree *t) {
  bool single = !has_rows(t);
  int64_t units;
  if (t->kind == NEO_TREE_LEAF) {
    const neo_kernel *k = kernel_at(x, t)->kernel;
    return !neo_kernel_threads(k) && neo_lx_is_int(k->units, &units) && units <= 1;
  }
  for (size_t k = 0; k < t->children.n && single; k++)
    single = is_sequential(x, t->children.at[k]);
  return single;
}

static bool is_separate(const maker *x, const neo_tree *t) {
  bool kernel = t->kind == NEO_TREE_LEAF;
  if (x->options->loops == NEO_LOOPS_EVERY)
    return true;
  if (machine_of(x)->gpu)
    return kernel || !is_sequential(x, t);
  if (kernel)
    return saved_by(x, kernel_at(x, t)) > 0;
  neo_trees parts = parts_of(x, t);
  return has_separate(x, &parts) || saved_in(x, parts) > 0;
}

/* ---- buffers */

/* The tensor whose memory a segment's tensor t is, and where it begins there; null: where t
 * does. */
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

static void use_kernel(maker *x, used_tensors *out, const neo_kernel *k) {
  for (size_t b = 0; b < k->bufs.n; b++)
    if (!(k->bufs.at[b].use & NEO_BUF_SCRATCH))
      use_buffer(x, out, &k->bufs.at[b]);
}

typedef struct {
  maker *x;
  used_tensors *out;
} bound_use;

static void use_element(void *ctx, neo_expr e) {
  const bound_use *u = ctx;
  const neo_node *n = neo_expr_node(u->x->m, e);
  if (n->op == NEO_OP_LOAD)
    use_tensor(u->x, u->out, (neo_tensor){n->attr}, NEO_BUF_READ);
}

static void use_tree(maker *x, used_tensors *out, const neo_tree *t) {
  if (is_band(t) && t->band.bound.i)
    neo_expr_visit(x->m, t->band.bound, use_element, &(bound_use){x, out});
  if (t->kind == NEO_TREE_LEAF)
    use_kernel(x, out, kernel_at(x, t)->kernel);
  if (has_rows(t))
    use_tensor(x, out, t->band.rows.first, NEO_BUF_READ);
  if (neo_recurrence_asks(x->m, t))
    use_tensor(x, out, (neo_tensor){neo_expr_node(x->m, t->condition)->attr}, NEO_BUF_READ);
  for (size_t k = 0; k < t->children.n; k++)
    use_tree(x, out, t->children.at[k]);
}

static void count_uses(maker *x, const neo_trees *all) {
  used_tensors used = {0};
  neo_map_init(&x->uses, x->a);
  for (size_t k = 0; k < all->n; k++)
    use_tree(x, &used, all->at[k]);
  for (size_t k = 0; k < used.n; k++)
    neo_map_set(&x->uses, used.at[k].tensor.i, used.at[k].n);
}

/* Elements at the largest extents, which need not be those of the largest sizes. */
static int64_t most_elements(maker *x, neo_tensor t) {
  int64_t n = 1, lo, hi;
  for (uint32_t k = 0; k < neo_tensor_rank(x->m, t); k++) {
    if (!neo_interval(x->prover, NULL, neo_tensor_extent(x->m, t, k), &lo, &hi) ||
        __builtin_mul_overflow(n, hi > 1 ? hi : 1, &n)) {
      neo_str_addf(x->why, "the extents of %s have no bound", neo_tensor_name(x->m, t));
      x->status = NEO_INTERNAL;
      return 1;
    }
  }
  return n;
}

static void add_buffer(maker *x, const used_tensor *u, bool scratch) {
  const neo_tensor_rec *r = neo_tensor_at(x->m, u->tensor);
  const char *name = neo_name_text(x->m->names, r->name);
  neo_kbuf b = {.name = name, .type = r->type, .use = u->use, .tensor = u->tensor};
  b.no_alias = true;
  b.align = neo_type_bytes((neo_type)r->type);
  uint32_t buf =
      scratch ? neo_kernel_scratch(x->k, name, (neo_type)r->type, most_elements(x, u->tensor))
              : neo_kernel_buf(x->k, b);
  neo_map_set(&x->buf_of, u->tensor.i, buf);
}

/* Adds buffers that are read, then those that are written, then scratch for tensors that no other
 * kernel uses. There is no such scratch on a GPU, where it would be a block's shared memory, which
 * is small. */
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

/* The buffer of the combined kernel, and the offset in it, that replace a segment's buffer. */
static neo_clone_buf place_of(maker *x, const neo_kbuf *from) {
  uint64_t buf = 0;
  neo_clone_buf y = {0, neo_lx_int(x->k, from->shift)};
  if (from->use & NEO_BUF_SCRATCH) {
    y.buf = neo_kernel_scratch(x->k, from->name, (neo_type)from->type, from->scratch_elems);
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

/* ---- a kernel of a tree */

static void clone_kernel(maker *x, neo_block *in, const neo_kernel *from) {
  neo_clone_buf *bufs = NEO_NEW_ARRAY(x->a, neo_clone_buf, from->bufs.n + 1);
  for (size_t k = 0; k < from->bufs.n; k++)
    bufs[k] = place_of(x, &from->bufs.at[k]);
  neo_kernel_clone_into(x->k, in, from, bufs, &x->index);
}

static void clone_tree(maker *x, neo_block *in, const neo_tree *t);

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

/* The first block after the last one that has rows. The table of first rows is defined up to it,
 * and at its last element (NEO_ROW_FIRST). */
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
static void clone_serial(maker *x, neo_block *in, const neo_tree *t) {
  neo_kernel *k = x->k;
  const neo_tree_band *l = &t->band;
  const neo_lx *lo = number_of(x, k, l->lo);
  const neo_lx *end = blocks_end(x, in, &l->rows, lo, number_of(x, k, l->hi));
  const neo_lx *at = blocks_wide_end(x, in, &l->rows, lo, end);
  neo_map_set(&x->index, neo_size_number(x->m, l->index), (uint64_t)(uintptr_t)at);
  neo_block *body = &neo_ls_if(k, in, neo_lx_op2(k, NEO_OP_LT, at, end))->branch.then;
  clone_tree(x, clone_rows(x, body, &l->rows, at, end), t->children.at[0]);
}

/* All blocks as one. */
static void clone_whole(maker *x, neo_block *in, const neo_tree *t) {
  const neo_tree_band *l = &t->band;
  const neo_lx *lo = number_of(x, x->k, l->lo), *hi = number_of(x, x->k, l->hi);
  neo_map_set(&x->index, neo_size_number(x->m, l->index), (uint64_t)(uintptr_t)lo);
  clone_tree(x, clone_rows(x, in, &l->rows, lo, hi), t->children.at[0]);
}

static void clone_loop(maker *x, neo_block *in, const neo_tree *t) {
  neo_kernel *k = x->k;
  const neo_tree_band *l = &t->band;
  const neo_lx *lo = number_of(x, k, l->lo), *hi = number_of(x, k, l->hi);
  uint32_t var = neo_kernel_var(k, neo_name_text(x->m->names, neo_size_at(x->m, l->index)->name));
  if (l->rows.first.i)
    hi = blocks_end(x, in, &l->rows, lo, hi);
  if (l->rows.range == NEO_BLOCKS_WIDE)
    hi = blocks_wide_end(x, in, &l->rows, lo, hi);
  if (l->bound.i) {
    const neo_lx *end = neo_lx_op2(k, NEO_OP_MIN, hi, number_of(x, k, l->bound));
    hi = number_begun(x, in, "end", neo_lx_op2(k, NEO_OP_MAX, lo, end)).value;
  }
  neo_ls *loop = neo_ls_for(k, in, NEO_LOOP_SERIAL, var, lo, hi, 1);
  const neo_lx *at = neo_lx_var(k, var);
  if (l->down) {
    const neo_lx *last =
        neo_lx_op2(k, NEO_OP_SUB, neo_lx_op2(k, NEO_OP_ADD, lo, hi), neo_lx_int(k, 1));
    at = neo_lx_op2(k, NEO_OP_SUB, last, at);
  }
  neo_map_set(&x->index, neo_size_number(x->m, l->index), (uint64_t)(uintptr_t)at);
  neo_block *body = &loop->loop.body;
  neo_expr unless = neo_recurrence_exit(t);
  loop->loop.more = unless.i ? number_of(x, k, unless) : NULL;
  if (l->rows.first.i)
    body = clone_rows(x, body, &l->rows, at, neo_lx_op2(k, NEO_OP_ADD, at, neo_lx_int(k, 1)));
  clone_tree(x, body, t->children.at[0]);
}

static void clone_tree(maker *x, neo_block *in, const neo_tree *t) {
  if (t->kind == NEO_TREE_LEAF)
    clone_kernel(x, in, kernel_at(x, t)->kernel);
  else if (is_band(t) && t->band.rows.range == NEO_BLOCKS_SERIAL)
    clone_serial(x, in, t);
  else if (is_band(t) && t->band.rows.range == NEO_BLOCKS_WHOLE)
    clone_whole(x, in, t);
  else if (is_band(t))
    clone_loop(x, in, t);
  else if (t->kind == NEO_TREE_GUARD)
    clone_tree(x, &neo_ls_if(x->k, in, number_of(x, x->k, t->condition))->branch.then,
               t->children.at[0]);
  else
    for (size_t k = 0; k < t->children.n; k++)
      clone_tree(x, in, t->children.at[k]);
}

static void gather_choices(const maker *x, const neo_tree *t, neo_tree_kernel *out) {
  if (t->kind == NEO_TREE_LEAF)
    NEO_PUSH(x->a, &out->choices, t->leaf.number);
  for (size_t k = 0; k < t->children.n; k++)
    gather_choices(x, t->children.at[k], out);
}

/* Adds the kernel, and returns its mark above the tree. */
static const neo_tree *marked(const maker *x, neo_tree_kernel k, const neo_tree *t) {
  NEO_PUSH(x->a, &x->out->kernels, k);
  return neo_tree_mark(x->a, (uint32_t)x->out->kernels.n - 1, t);
}

static const neo_tree *joined(maker *x, const neo_tree *t) {
  neo_tree_kernel out = {.kernel = neo_kernel_new(x->a, x->g->name)};
  used_tensors used = {0};
  x->k = out.kernel;
  x->k->span = neo_def_at(x->m, x->g->members.at[0].def)->span;
  neo_map_init(&x->buf_of, x->a);
  neo_map_init(&x->index, x->a);
  neo_kernel_name_sizes(x->k, x->m);
  gather_choices(x, t, &out);
  use_tree(x, &used, t);
  add_buffers(x, &used);
  clone_tree(x, &x->k->body, t);
  neo_kernel_guard(x->m, out.kernel,
                   x->g); /* the search for the ends of its loops is guarded, too */
  x->k = NULL;
  x->status = neo_kernel_verify(out.kernel, x->why);
  return marked(x, out, t);
}

/* ---- a kernel of its own */

static const neo_tree *alone(const maker *x, const neo_tree *leaf) {
  neo_kernel *k = kernel_at(x, leaf)->kernel;
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
  return marked(x, *kernel_at(x, leaf), leaf);
}

static bool is_kernel_of_its_own(const maker *x, const neo_trees *parts, size_t at) {
  bool before = at > 0 && !is_separate(x, parts->at[at - 1]);
  bool after = at + 1 < parts->n && !is_separate(x, parts->at[at + 1]);
  return parts->at[at]->kind == NEO_TREE_LEAF &&
         (is_separate(x, parts->at[at]) || (!before && !after));
}

static const neo_tree *divided(maker *x, const neo_trees *parts);

/* The band or guard as a loop of the plan, with its body divided into kernels. */
static const neo_tree *divided_below(maker *x, const neo_tree *t) {
  neo_trees parts = parts_of(x, t);
  const neo_tree *child = divided(x, &parts);
  return is_band(t) ? band_around(x, t, child) : neo_tree_guard(x->a, t->condition, child);
}

/* The tree of the plan: bands that are loops of the plan, and a kernel for each run of other
 * parts. */
static const neo_tree *divided(maker *x, const neo_trees *parts) {
  neo_trees out = {0};
  for (size_t k = 0, end; k < parts->n && !x->status; k = end) {
    const neo_tree *t = parts->at[k];
    neo_trees run = {0};
    end = k + 1;
    if (is_kernel_of_its_own(x, parts, k)) {
      t = alone(x, t);
    } else if (is_separate(x, t)) {
      t = divided_below(x, t);
    } else {
      for (end = k; end < parts->n && !is_separate(x, parts->at[end]); end++)
        NEO_PUSH(x->a, &run, parts->at[end]);
      t = joined(x, neo_tree_sequence(x->a, &run));
    }
    NEO_PUSH(x->a, &out, t);
  }
  return neo_tree_sequence(x->a, &out);
}

neo_status neo_recurrence_kernels(neo_module *m, const neo_group *g,
                                  const neo_recurrence_options *options, neo_arena *a,
                                  neo_kernel_tree *out, neo_str *why) {
  maker x = {.m = m, .g = g, .options = options, .a = a, .why = why, .out = out};
  neo_trees parts = {0};
  take_sizes(&x);
  lower_tree(&x, &parts, loops_of(&x)->tree.root);
  if (x.status)
    return x.status;
  bool alike = neo_sum_orders_equal(&x.order[NEO_BLOCKS_WIDE], &x.order[NEO_BLOCKS_SERIAL]);
  if (options->one_row_blocks ? options->one_row_blocks == NEO_ROWS_IN_BLOCKS : !alike)
    parts = all_blocks_alike(&x, &parts);
  count_uses(&x, &parts);
  x.prover = neo_prover_new(m);
  /* A recurrence without iterations has no kernels, and is an empty sequence. */
  out->root = parts.n ? divided(&x, &parts) : joined(&x, neo_tree_sequence(a, &parts));
  neo_prover_free(x.prover);
  return x.status;
}
