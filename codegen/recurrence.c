/* Each segment becomes groups and kernels as a program of its own would; their statements are copied
 * into the kernel of the recurrence. A slice that is stored is its whole tensor's buffer, from an
 * offset on that the loops' indices give; one that is not is scratch. */
#include "codegen/recurrence.h"
#include "codegen/loop/clone.h"
#include "codegen/make.h"
#include "fusion/form.h"
#include <assert.h>
#include <stdio.h>

typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_machine *machine;
  neo_fuse_options fusion;
  neo_segment_schedule *choose;
  void *choose_ctx;
  neo_arena *a;
  neo_kernel *k;
  neo_str *why;
  neo_map buf_of; /* tensor -> buffer */
  neo_map index;  /* the number of a size that is a loop's index -> its value, a neo_lx */
  neo_status status;
} maker;

static const neo_recurrence *loops_of(const maker *x) {
  return x->g->recurrence;
}

/* ---- expressions over sizes */

static const neo_lx *size_value(maker *x, neo_size s) {
  uint64_t at;
  if (neo_map_get(&x->index, s.i - 1, &at))
    return (const neo_lx *)(uintptr_t)at;
  neo_size_rec r = *neo_size_at(x->m, s);
  return neo_lx_size(x->k, neo_kernel_size(x->k, s.i - 1, neo_name_text(x->m->names, r.name)));
}

static const neo_lx *number_of(maker *x, neo_expr e) {
  neo_node n = *neo_expr_node(x->m, e);
  const neo_lx *arg[3];
  int64_t c;
  if (neo_expr_is_int(x->m, e, &c))
    return n.type == NEO_BOOL_T ? neo_lx_const(x->k, NEO_BOOL_T, (neo_value){.i = c})
                                : neo_lx_int(x->k, c);
  if (n.op == NEO_OP_SIZE) {
    const neo_size_rec *r = neo_size_at(x->m, (neo_size){n.attr});
    return r->kind == NEO_SIZE_DERIVED ? number_of(x, r->value) : size_value(x, (neo_size){n.attr});
  }
  assert(n.arg.n <= 3 && "an expression over sizes");
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = number_of(x, neo_list_expr(x->m, n.arg, k));
  return neo_lx_op(x->k, (neo_op)n.op, (neo_type)n.type, arg, n.arg.n);
}

/* ---- buffers */

static bool is_among(neo_tensor t, const neo_tensor *at, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (at[k].i == t.i)
      return true;
  return false;
}

static uint32_t add_buffer(maker *x, neo_tensor t, uint8_t use) {
  const neo_tensor_rec *r = neo_tensor_at(x->m, t);
  neo_kbuf b = {.name = neo_name_text(x->m->names, r->name), .type = r->type, .use = use};
  b.tensor = t;
  b.no_alias =
      !is_among(t, x->g->reads.at, x->g->reads.n) || !is_among(t, x->g->roots.at, x->g->roots.n);
  b.align = neo_type_bytes((neo_type)r->type);
  return neo_kernel_buf(x->k, b);
}

/* A tensor that is read and written has two, for the same memory; the second is used. */
static void add_buffers(maker *x) {
  for (size_t k = 0; k < x->g->reads.n; k++)
    neo_map_set(&x->buf_of, x->g->reads.at[k].i, add_buffer(x, x->g->reads.at[k], NEO_BUF_READ));
  for (size_t k = 0; k < x->g->roots.n; k++)
    neo_map_set(&x->buf_of, x->g->roots.at[k].i,
                add_buffer(x, x->g->roots.at[k], NEO_BUF_READ | NEO_BUF_WRITE));
}

static int64_t most_elements(const maker *x, neo_tensor t) {
  int64_t n = 1;
  for (uint32_t k = 0; k < neo_tensor_rank(x->m, t); k++) {
    int64_t extent = neo_extent_most(x->m, neo_tensor_extent(x->m, t, k));
    n *= extent > 1 ? extent : 1;
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

/* The buffer of a tensor that segments hand to each other, or that one keeps for its kernels. */
static uint32_t scratch_of(maker *x, neo_tensor t) {
  uint64_t buf;
  neo_tensor_rec r = *neo_tensor_at(x->m, t);
  if (neo_map_get(&x->buf_of, t.i, &buf))
    return (uint32_t)buf;
  buf = add_scratch(x, neo_name_text(x->m->names, r.name), r.type, most_elements(x, t));
  neo_map_set(&x->buf_of, t.i, buf);
  return (uint32_t)buf;
}

/* Where the elements of the kernel's buffer `from` are. */
static neo_clone_buf place_of(maker *x, const neo_kbuf *from) {
  uint64_t whole, buf = 0;
  neo_clone_buf y = {0, neo_lx_int(x->k, from->shift)};
  if (from->use & NEO_BUF_SCRATCH) {
    y.buf = add_scratch(x, from->name, from->type, from->scratch_elems);
    return y;
  }
  const neo_slice *slice = neo_recurrence_slice(loops_of(x), from->tensor);
  neo_tensor t = from->tensor;
  if (slice && slice->stored) {
    t = slice->whole;
    y.offset = neo_lx_op2(x->k, NEO_OP_ADD, y.offset, number_of(x, slice->offset));
  } else if (neo_map_get(&loops_of(x)->memory, t.i, &whole)) {
    t.i = (uint32_t)whole;
  }
  y.buf = neo_map_get(&x->buf_of, t.i, &buf) ? (uint32_t)buf : scratch_of(x, t);
  return y;
}

/* ---- segments */

static void add_kernel(maker *x, neo_block *in, const neo_kernel *from) {
  neo_clone_buf *bufs = NEO_NEW_ARRAY(x->a, neo_clone_buf, from->bufs.n + 1);
  for (size_t k = 0; k < from->bufs.n; k++)
    bufs[k] = place_of(x, &from->bufs.at[k]);
  neo_kernel_clone_into(x->k, in, from, bufs, &x->index);
}

static void add_group(maker *x, neo_block *in, const neo_group *g) {
  neo_kernel *kernel;
  neo_schedule s = x->choose ? x->choose(x->choose_ctx, x->m, g, x->machine)
                             : neo_schedule_default(x->m, g, x->machine);
  x->status = neo_kernel_make(x->m, g, &s, false, x->a, &kernel, x->why);
  if (!x->status)
    add_kernel(x, in, kernel);
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

static void add_segment(maker *x, neo_block *in, const neo_recurrence_step *s) {
  neo_grouping grouping;
  x->status = fuse_segment(x, s, &grouping);
  if (s->when.i)
    in = &neo_ls_if(x->k, in, number_of(x, s->when))->branch.then;
  for (size_t k = 0; k < grouping.groups.n && !x->status; k++)
    if (is_of(s, &grouping.groups.at[k])) /* others make initial values */
      add_group(x, in, &grouping.groups.at[k]);
}

/* ---- loops */

static void add_steps(maker *x, neo_block *in, const neo_recurrence_steps *steps);

static void add_loop(maker *x, neo_block *in, const neo_recurrence_step *l) {
  neo_kernel *k = x->k;
  const neo_lx *lo = number_of(x, l->lo), *hi = number_of(x, l->hi);
  uint32_t var = neo_kernel_var(k, neo_name_text(x->m->names, neo_size_at(x->m, l->index)->name));
  neo_ls *loop = neo_ls_for(k, in, NEO_LOOP_SERIAL, var, lo, hi, 1);
  const neo_lx *at = neo_lx_var(k, var);
  if (l->down) {
    const neo_lx *last =
        neo_lx_op2(k, NEO_OP_SUB, neo_lx_op2(k, NEO_OP_ADD, lo, hi), neo_lx_int(k, 1));
    at = neo_lx_op2(k, NEO_OP_SUB, last, at);
  }
  neo_map_set(&x->index, l->index.i - 1, (uint64_t)(uintptr_t)at);
  add_steps(x, &loop->loop.body, &l->steps);
}

static void add_steps(maker *x, neo_block *in, const neo_recurrence_steps *steps) {
  for (size_t k = 0; k < steps->n && !x->status; k++)
    if (steps->at[k].is_loop)
      add_loop(x, in, &steps->at[k]);
    else
      add_segment(x, in, &steps->at[k]);
}

neo_status neo_recurrence_kernel(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 const neo_fuse_options *fusion, neo_segment_schedule *choose,
                                 void *choose_ctx, neo_arena *a, neo_kernel **out, neo_str *why) {
  maker x = {.m = m, .g = g, .machine = machine, .fusion = *fusion, .a = a, .why = why};
  x.choose = choose;
  x.choose_ctx = choose_ctx;
  x.fusion.off |= 1u << NEO_FUSE_CACHE | 1u << NEO_FUSE_GRID | 1u << NEO_FUSE_COLUMNS;
  x.k = neo_kernel_new(a, g->name);
  x.k->span = neo_def_at(m, g->members.at[0].def)->span;
  x.k->units = neo_lx_int(x.k, 1);
  neo_map_init(&x.buf_of, a);
  neo_map_init(&x.index, a);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    if (!m->sizes.at[k].loop_index)
      neo_kernel_size(x.k, k - 1, neo_name_text(m->names, m->sizes.at[k].name));
  add_buffers(&x);
  add_steps(&x, &x.k->body, &loops_of(&x)->steps);
  *out = x.k;
  return x.status ? x.status : neo_kernel_verify(x.k, why);
}
