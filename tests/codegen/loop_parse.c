/* Parses the text of loop/print.c: statements and the head. Layout: a block's statements stand
 * further in than its head, all alike. The first error ends the parse. Limits keep hostile text
 * from exhausting the stack. */
#include "loop_parse.h"
#include <string.h>

enum { MAX_MIB = 256 };

static void statements(parser *p, neo_block *in, uint32_t column);

static void end_line(parser *p) {
  if (!p->failed && p->t.kind != T_LINE && p->t.kind != T_END)
    neo_lp_expected(p, "the end of the line");
}

/* The block of a head that stood at `column`. */
static void inner(parser *p, neo_block *in, uint32_t column) {
  end_line(p);
  if (p->failed || p->t.kind != T_LINE || p->t.n <= column)
    return;
  if (++p->nesting > NEO_LP_NESTING)
    neo_lp_expected(p, "less nesting");
  statements(p, in, p->t.n);
  p->nesting--;
}

static neo_loop_kind loop_kind(parser *p) {
  if (neo_lp_accept(p, "unit"))
    return NEO_LOOP_UNIT;
  if (neo_lp_accept(p, "unroll"))
    return NEO_LOOP_UNROLL;
  if (neo_lp_accept(p, "thread"))
    return NEO_LOOP_THREAD;
  return neo_lp_accept(p, "vector") ? NEO_LOOP_VECTOR : NEO_LOOP_SERIAL;
}

static void for_(parser *p, neo_block *in, uint32_t column) {
  const char *s = neo_lp_new_name(p, "a variable");
  neo_lp_need(p, "in");
  const neo_lx *lo = neo_lp_typed(p, NEO_I64_T, "the lower bound");
  neo_lp_need(p, "..");
  const neo_lx *hi = neo_lp_typed(p, NEO_I64_T, "the upper bound");
  int64_t step = neo_lp_accept(p, "step") ? neo_lp_take_int(p) : 1;
  neo_loop_kind kind = loop_kind(p);
  if (p->failed)
    return;
  uint32_t var = neo_kernel_var(p->k, s);
  const neo_lx *units = p->k->units;
  neo_ls *loop = neo_ls_for(p->k, in, kind, var, lo, hi, step);
  p->k->units = units; /* as the head says */
  neo_lp_declare(p, s, N_VAR, var);
  if (neo_lp_accept(p, "while"))
    loop->loop.more = neo_lp_typed(p, NEO_BOOL_T, "the loop's condition");
  inner(p, &loop->loop.body, column);
  p->names.n--; /* the variable: registers stand before it */
}

static void if_(parser *p, neo_block *in, uint32_t column) {
  neo_ls *s = neo_ls_if(p->k, in, neo_lp_typed(p, NEO_BOOL_T, "the condition"));
  inner(p, &s->branch.then, column);
  if (p->failed || p->t.kind != T_LINE || p->t.n != column)
    return;
  token line = p->t;
  neo_lp_advance(p);
  if (neo_lp_accept(p, "else"))
    inner(p, &s->branch.otherwise, column);
  else
    p->t = line;
}

static void specialize(parser *p, neo_block *in, uint32_t column) {
  uint32_t registers[2];
  neo_lp_need(p, "registers");
  registers[0] = (uint32_t)neo_lp_take_small(p, INT32_MAX);
  neo_lp_need(p, ",");
  registers[1] = (uint32_t)neo_lp_take_small(p, INT32_MAX);
  neo_ls *s = neo_ls_specialize(p->k, in, registers);
  inner(p, &s->specialize.arm[NEO_PRODUCER], column);
  if (!p->failed && p->t.kind == T_LINE && p->t.n == column)
    neo_lp_advance(p);
  neo_lp_need(p, "consumers");
  inner(p, &s->specialize.arm[NEO_CONSUMER], column);
}

static bool same_reg(const neo_reg *x, const neo_reg *y) {
  return x->type == y->type && x->rank == y->rank && x->threads == y->threads &&
         memcmp(x->extent, y->extent, sizeof x->extent) == 0;
}

static void reg(parser *p, neo_block *in) {
  token at = p->t;
  neo_reg r = {.name = neo_lp_new_name(p, "a register")};
  neo_lp_need(p, "[");
  while (!p->failed && !neo_lp_accept(p, "]")) {
    if (r.rank)
      neo_lp_need(p, ",");
    if (r.rank == 4)
      neo_lp_expected(p, "']'");
    else
      r.extent[r.rank++] = neo_lp_take_int(p);
  }
  neo_lp_need(p, ":");
  r.type = (uint8_t)neo_lp_take_type(p);
  if (neo_lp_accept(p, "threads"))
    r.threads = neo_lp_take_int(p);
  const name *old = neo_lp_find(p, r.name);
  if (p->failed)
    return;
  if (old && (old->kind != N_REG || !same_reg(&p->k->regs.at[old->number], &r))) {
    neo_diag(p->d, neo_lp_span_of(p, at), NEO_D_IR_TWICE, "name", r.name);
    p->failed = true;
    return;
  }
  uint32_t number_ = old ? old->number : neo_kernel_reg(p->k, r);
  if (!old) { /* registers are named for the whole kernel: before the variables in scope */
    neo_lp_declare(p, r.name, N_REG, number_);
    for (size_t i = p->names.n - 1; i > 0 && p->names.at[i - 1].kind == N_VAR; i--) {
      name swap = p->names.at[i];
      p->names.at[i] = p->names.at[i - 1];
      p->names.at[i - 1] = swap;
    }
  }
  neo_ls_reg(p->k, in, number_);
}

static void let_line(parser *p) {
  neo_lp_need(p, "%");
  token at = p->t;
  if (neo_lp_take_int(p) != (int64_t)p->lets.n)
    neo_lp_bad_type(p, at, "lets are numbered in order");
  neo_lp_need(p, "=");
  const neo_lx *e = neo_lp_expression(p);
  if (!p->failed)
    NEO_PUSH(p->a, &p->lets, e);
}

static void assign(parser *p, neo_block *in) {
  token at = p->t;
  const char *s = neo_lp_take_word(p, "a statement");
  const name *n = neo_lp_find(p, s);
  const neo_lx *index[4] = {0}, *cond = NULL;
  size_t rank = 1;
  if (p->failed)
    return;
  if (!n || (n->kind != N_REG && n->kind != N_BUF)) {
    neo_diag(p->d, neo_lp_span_of(p, at), NEO_D_IR_NAME, "buffer or register", s);
    p->failed = true;
    return;
  }
  uint32_t number_ = n->number;
  bool is_buf = n->kind == N_BUF;
  neo_type t = (neo_type)(is_buf ? p->k->bufs.at[number_].type : p->k->regs.at[number_].type);
  if (is_buf) {
    neo_lp_need(p, "[");
    index[0] = neo_lp_typed(p, NEO_I64_T, "the offset");
    neo_lp_need(p, "]");
  } else {
    rank = neo_lp_indices(p, at, number_, index);
  }
  bool adds = is_buf && neo_lp_accept(p, "+");
  neo_lp_need(p, "=");
  const neo_lx *value = neo_lp_typed(p, t, "the value");
  if (is_buf && !adds && neo_lp_accept(p, "if"))
    cond = neo_lp_typed(p, NEO_BOOL_T, "the condition");
  if (p->failed)
    return;
  if (adds)
    neo_ls_add(p->k, in, number_, index[0], value);
  else if (is_buf)
    neo_ls_store(p->k, in, number_, index[0], value, cond);
  else
    neo_ls_set(p->k, in, number_, index, rank, value);
}

static void statement(parser *p, neo_block *in, uint32_t column) {
  p->k->span = neo_lp_span_of(p, p->t);
  if (neo_lp_accept(p, "let")) {
    let_line(p);
    end_line(p);
    return;
  }
  if (neo_lp_accept(p, "for"))
    for_(p, in, column);
  else if (neo_lp_accept(p, "if"))
    if_(p, in, column);
  else if (neo_lp_accept(p, "reg"))
    reg(p, in);
  else if (neo_lp_accept(p, "producer"))
    specialize(p, in, column);
  else if (!neo_lp_device(p, in))
    assign(p, in);
  p->lets.n = 0;
  end_line(p);
}

static void statements(parser *p, neo_block *in, uint32_t column) {
  while (!p->failed && p->t.kind == T_LINE && p->t.n == column) {
    neo_lp_advance(p);
    statement(p, in, column);
  }
  if (!p->failed && p->t.kind == T_LINE && p->t.n > column)
    neo_lp_expected(p, "less indentation");
}

/* ---- the head */

static void buffer(parser *p) {
  neo_kbuf b = {.name = neo_lp_new_name(p, "a buffer")};
  neo_lp_need(p, ":");
  b.type = (uint8_t)neo_lp_take_type(p);
  for (;;) {
    if (neo_lp_accept(p, "read"))
      b.use |= NEO_BUF_READ;
    else if (neo_lp_accept(p, "write"))
      b.use |= NEO_BUF_WRITE;
    else if (neo_lp_accept(p, "scratch")) {
      b.use |= NEO_BUF_SCRATCH;
      b.scratch_elems = neo_lp_take_small(p, INT64_MAX / 16);
    } else if (neo_lp_accept(p, "noalias"))
      b.no_alias = true;
    else if (neo_lp_accept(p, "nontemporal"))
      b.nontemporal = true;
    else if (neo_lp_accept(p, "align"))
      b.align = neo_lp_take_small(p, 1 << 20);
    else if (neo_lp_accept(p, "tensor"))
      b.tensor.i = (uint32_t)neo_lp_take_small(p, UINT32_MAX);
    else if (neo_lp_accept(p, "from"))
      b.shift = neo_lp_take_small(p, INT64_MAX / 16);
    else
      break;
  }
  if (!p->failed)
    neo_lp_declare(p, b.name, N_BUF, neo_kernel_buf(p->k, b));
}

/* Parses the origin of a buffer, which follows the sizes. */
static void origin(parser *p) {
  token at = p->t;
  const name *n = neo_lp_find(p, neo_lp_take_word(p, "a buffer"));
  if (!p->failed && (!n || n->kind != N_BUF)) {
    p->t = at;
    neo_lp_expected(p, "a buffer");
  }
  uint32_t buf = p->failed ? 0 : n->number;
  const neo_lx *e = neo_lp_typed(p, NEO_I64_T, "the origin");
  if (!p->failed)
    p->k->bufs.at[buf].origin = e;
}

static void head(parser *p) {
  neo_lp_need(p, "kernel");
  p->k = neo_kernel_new(p->a, neo_lp_take_word(p, "a name"));
  neo_lp_need(p, "(");
  if (!neo_lp_accept(p, ")")) {
    do
      buffer(p);
    while (neo_lp_accept(p, ","));
    neo_lp_need(p, ")");
  }
  if (neo_lp_accept(p, "sizes"))
    do {
      uint32_t number_ = (uint32_t)p->k->sizes.n;
      const char *s = neo_lp_new_name(p, "a size");
      neo_lp_declare(p, s, N_SIZE, neo_kernel_size(p->k, number_, s));
    } while (neo_lp_accept(p, ","));
  neo_lp_need(p, "units");
  const neo_lx *units = neo_lp_typed(p, NEO_I64_T, "the number of units");
  if (!p->failed)
    p->k->units = units;
  if (neo_lp_accept(p, "persistent"))
    p->k->persistent = neo_lp_take_int(p);
  while (!p->failed && neo_lp_accept(p, "origin"))
    origin(p);
  end_line(p);
}

neo_kernel *neo_kernel_parse(neo_arena *a, neo_diags *d, const char *path, const char *text,
                             size_t n) {
  parser p = {.a = a, .d = d, .text = text, .n = (uint32_t)n};
  if (n > (size_t)MAX_MIB << 20) {
    neo_diag(d, 0, NEO_D_TOO_LARGE, MAX_MIB);
    return NULL;
  }
  p.file = neo_sources_add(neo_diags_sources(d), path, text, n);
  p.k = neo_kernel_new(a, "");
  neo_lp_advance(&p);
  bool version = neo_lp_accept(&p, "neo") && neo_lp_accept(&p, "-") && neo_lp_accept(&p, "loop") &&
                 neo_lp_is(&p, "2");
  if (!version)
    neo_lp_expected(&p, "'neo-loop 2' in the first line");
  else
    neo_lp_advance(&p);
  end_line(&p);
  neo_lp_advance(&p);
  head(&p);
  statements(&p, &p.k->body, 0);
  if (!p.failed && p.t.kind != T_END)
    neo_lp_expected(&p, "a statement");
  return p.failed ? NULL : p.k;
}
