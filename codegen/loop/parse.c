/* Parses the text of loop/print.c. Layout: a block's statements stand further in than its head, all
 * alike. Every node goes through the builder, so types are checked before it is called; the first
 * error ends the parse. Limits keep hostile text from exhausting the stack. */
#include "codegen/loop/parse.h"
#include "codegen/loop/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NESTING = 400, MAX_MIB = 256 };
enum { PREC_OR = 1, PREC_AND, PREC_NOT, PREC_CMP, PREC_ADD, PREC_MUL, PREC_UNARY };

/* ---- names */

const name *neo_lp_find(const parser *p, const char *s) {
  for (size_t i = p->names.n; i-- > 0;)
    if (neo_streq(p->names.at[i].text, s))
      return &p->names.at[i];
  return NULL;
}

static void declare(parser *p, const char *s, name_kind kind, uint32_t number_) {
  name n = {s, kind, number_};
  NEO_PUSH(p->a, &p->names, n);
}

static const char *new_name(parser *p, const char *what) {
  token at = p->t;
  neo_op op;
  neo_type t;
  const char *s = neo_lp_take_word(p, what);
  bool word = neo_op_of_text(s, &op) || neo_type_of_text(s, &t) || isdigit((unsigned char)s[0]);
  for (int i = 0; neo_loop_words[i]; i++)
    word = word || neo_streq(neo_loop_words[i], s);
  if (!p->failed && word) {
    p->t = at;
    neo_lp_expected(p, what);
  }
  return s;
}

/* ---- expressions */

static const neo_lx *expression(parser *p, int prec);

static const neo_lx *nothing(parser *p) {
  return neo_lx_int(p->k, 0);
}

const neo_lx *neo_lp_typed(parser *p, neo_type t, const char *what) {
  token at = p->t;
  const neo_lx *e = expression(p, PREC_OR);
  if (!p->failed && e->type != t)
    neo_lp_bad_type(p, at,
                    neo_arena_printf(p->a, "%s is %s, not %s", what,
                                     neo_type_text((neo_type)e->type), neo_type_text(t)));
  return e;
}

static const neo_lx *typed_literal(parser *p, neo_type t, neo_value x, bool is_float, token at) {
  if (is_float != neo_type_is_float(t) || t == NEO_BOOL_T)
    neo_lp_bad_type(p, at, "does not fit its type");
  return p->failed ? nothing(p) : neo_lx_const(p->k, t, x);
}

static const neo_lx *literal(parser *p) {
  token at = p->t;
  neo_value x = {0};
  bool is_float = at.kind != T_INT;
  if (neo_lp_accept(p, "inf"))
    x.f = (double)__builtin_inff();
  else if (neo_lp_accept(p, "nan"))
    x.f = (double)__builtin_nanf("");
  else if (!is_float)
    x.i = neo_lp_take_int(p);
  else {
    x.f = strtod(neo_arena_strndup(p->a, p->text + at.at, at.n), NULL);
    neo_lp_advance(p);
  }
  neo_type t = is_float ? NEO_F32_T : NEO_I64_T;
  if (neo_lp_accept(p, ":"))
    t = neo_lp_take_type(p);
  return p->failed ? nothing(p) : typed_literal(p, t, x, is_float, at);
}

static size_t arguments(parser *p, const char *close, const neo_lx **arg, size_t most) {
  size_t n = 0;
  if (neo_lp_accept(p, close))
    return 0;
  do {
    if (n == most) {
      neo_lp_expected(p, neo_arena_printf(p->a, "'%s'", close));
      return n;
    }
    arg[n++] = expression(p, PREC_OR);
  } while (neo_lp_accept(p, ","));
  neo_lp_need(p, close);
  return n;
}

/* Whether the operator takes these; reports if not. */
static bool fits(parser *p, token at, neo_op op, neo_type result, const neo_lx *const *arg,
                 size_t n) {
  if (p->failed)
    return false;
  neo_rule rule = neo_op_rule(op);
  neo_type t = (neo_type)arg[0]->type;
  bool same = neo_op_arity(op) == (int)n;
  size_t first = rule == NEO_RULE_SELECT ? 1 : 0;
  for (size_t k = first; same && k < n; k++)
    same = arg[k]->type == arg[first]->type;
  if (rule == NEO_RULE_SELECT)
    same = same && t == NEO_BOOL_T;
  if (rule == NEO_RULE_FLOAT)
    same = same && neo_type_is_float(t);
  if (rule == NEO_RULE_NUM)
    same = same && t != NEO_BOOL_T;
  if (rule == NEO_RULE_LOGIC)
    same = same && t == NEO_BOOL_T;
  (void)result;
  if (!same)
    neo_lp_bad_type(p, at, "arguments of the wrong number or types");
  return same;
}

static const neo_lx *apply(parser *p, token at, neo_op op, const neo_lx *const *arg, size_t n) {
  neo_type t = n ? (neo_type)arg[0]->type : NEO_I64_T;
  if (n == 0)
    neo_lp_bad_type(p, at, "arguments of the wrong number or types");
  if (!fits(p, at, op, t, arg, n))
    return nothing(p);
  if (neo_op_rule(op) == NEO_RULE_CMP)
    t = NEO_BOOL_T;
  if (op == NEO_OP_SELECT)
    t = (neo_type)arg[1]->type;
  return neo_lx_op(p->k, op, t, arg, n);
}

static const neo_lx *random_(parser *p) {
  neo_type t = NEO_F32_T;
  const neo_lx *e;
  neo_lp_need(p, "@");
  uint32_t site = (uint32_t)neo_lp_take_small(p, UINT32_MAX);
  token at = p->t;
  if (neo_lp_accept(p, ":"))
    t = neo_lp_take_type(p);
  if (t != NEO_F32_T && t != NEO_F64_T)
    neo_lp_bad_type(p, at, "rand is f32 or f64");
  neo_lp_need(p, "(");
  e = neo_lp_typed(p, NEO_I64_T, "the element");
  neo_lp_need(p, ")");
  return p->failed ? nothing(p) : neo_lx_rand(p->k, t, site, e);
}

static const neo_lx *fused(parser *p, token at) {
  const neo_lx *arg[3];
  neo_lp_need(p, "(");
  size_t n = arguments(p, ")", arg, 3);
  if (!p->failed && (n != 3 || arg[0]->type != arg[1]->type || arg[0]->type != arg[2]->type))
    neo_lp_bad_type(p, at, "arguments of the wrong number or types");
  return p->failed ? nothing(p) : neo_lx_fma(p->k, arg[0], arg[1], arg[2]);
}

static const neo_lx *pair(parser *p, token at) {
  const neo_lx *arg[2];
  neo_lp_need(p, "(");
  size_t n = arguments(p, ")", arg, 2);
  if (!p->failed && (n != 2 || arg[0]->type != NEO_BF16_T || arg[1]->type != NEO_BF16_T))
    neo_lp_bad_type(p, at, "a pair is of two bf16");
  return p->failed ? nothing(p) : neo_lx_pair(p->k, arg[0], arg[1]);
}

static const neo_lx *dot(parser *p, token at) {
  const neo_lx *arg[3];
  neo_lp_need(p, "(");
  size_t n = arguments(p, ")", arg, 3);
  if (!p->failed && (n != 3 || arg[0]->type != NEO_I32_T || arg[1]->type != NEO_I32_T ||
                     arg[2]->type != NEO_F32_T))
    neo_lp_bad_type(p, at, "a dot is of two i32 and an f32");
  return p->failed ? nothing(p) : neo_lx_dot(p->k, arg[0], arg[1], arg[2]);
}

static const neo_lx *call(parser *p, token at, const char *word) {
  const neo_lx *arg[4] = {0};
  neo_op op;
  neo_type t;
  bool is_type = neo_type_of_text(word, &t);
  if (!is_type && !neo_op_of_text(word, &op)) {
    if (!p->failed)
      neo_diag(p->d, neo_lp_span_of(p, at), NEO_D_IR_NAME, "function", word);
    p->failed = true;
    return nothing(p);
  }
  neo_lp_need(p, "(");
  size_t n = arguments(p, ")", arg, 4);
  if (!is_type)
    return p->failed ? nothing(p) : apply(p, at, op, arg, n);
  if (!p->failed && n != 1)
    neo_lp_bad_type(p, at, "a cast takes one argument");
  return p->failed ? nothing(p) : neo_lx_cast(p->k, t, arg[0]);
}

static const neo_lx *load(parser *p, uint32_t buf) {
  neo_type t = (neo_type)p->k->bufs.at[buf].type;
  neo_lp_need(p, "[");
  const neo_lx *offset = neo_lp_typed(p, NEO_I64_T, "the offset"), *cond, *other;
  if (!neo_lp_accept(p, "if")) {
    neo_lp_need(p, "]");
    return p->failed ? nothing(p) : neo_lx_load(p->k, buf, offset);
  }
  cond = neo_lp_typed(p, NEO_BOOL_T, "the condition");
  neo_lp_need(p, "else");
  other = neo_lp_typed(p, t, "the other value");
  neo_lp_need(p, "]");
  return p->failed ? nothing(p) : neo_lx_loadif(p->k, buf, offset, cond, other);
}

static size_t indices(parser *p, token at, uint32_t reg, const neo_lx **index) {
  neo_lp_need(p, "[");
  size_t n = arguments(p, "]", index, 4);
  for (size_t i = 0; i < n && !p->failed; i++)
    if (index[i]->type != NEO_I64_T)
      neo_lp_bad_type(p, at, "an index is not i64");
  if (!p->failed && n != p->k->regs.at[reg].rank)
    neo_lp_bad_type(p, at, "wrong number of indices");
  return n;
}

static const neo_lx *named(parser *p) {
  token at = p->t;
  const char *s = neo_lp_take_word(p, "an expression");
  const name *n = neo_lp_find(p, s);
  const neo_lx *index[4];
  if (p->failed)
    return nothing(p);
  if (neo_streq(s, "true") || neo_streq(s, "false"))
    return neo_lx_const(p->k, NEO_BOOL_T, (neo_value){.i = s[0] == 't'});
  if (neo_streq(s, "rand"))
    return random_(p);
  if (neo_streq(s, "fma"))
    return fused(p, at);
  if (neo_streq(s, "pair"))
    return pair(p, at);
  if (neo_streq(s, "dot"))
    return dot(p, at);
  if (!n && neo_lp_is(p, "("))
    return call(p, at, s);
  if (!n) {
    neo_diag(p->d, neo_lp_span_of(p, at), NEO_D_IR_NAME, "name", s);
    p->failed = true;
    return nothing(p);
  }
  switch (n->kind) {
  case N_BUF:
    return load(p, n->number);
  case N_VAR:
    return neo_lx_var(p->k, n->number);
  case N_SIZE:
    return neo_lx_size(p->k, n->number);
  default:
    break;
  }
  uint32_t reg = n->number;
  size_t rank = indices(p, at, reg, index);
  return p->failed ? nothing(p) : neo_lx_reg(p->k, reg, index, rank);
}

static const neo_lx *key(parser *p) {
  static const char *const keys[] = {"seed", "step", "call"};
  for (uint32_t i = 0; i < 3; i++)
    if (neo_lp_accept(p, keys[i]))
      return neo_lx_key(p->k, i);
  neo_lp_expected(p, "seed, step or call");
  return nothing(p);
}

static const neo_lx *let(parser *p) {
  token at = p->t;
  int64_t i = neo_lp_take_int(p);
  if (!p->failed && (i < 0 || (uint64_t)i >= p->lets.n))
    neo_lp_bad_type(p, at, "no such let");
  return p->failed ? nothing(p) : p->lets.at[i];
}

static const neo_lx *atom(parser *p) {
  if (p->t.kind == T_INT || p->t.kind == T_FLOAT || neo_lp_is(p, "inf") || neo_lp_is(p, "nan"))
    return literal(p);
  if (neo_lp_accept(p, "@"))
    return key(p);
  if (neo_lp_accept(p, "%"))
    return let(p);
  if (!neo_lp_accept(p, "("))
    return named(p);
  const neo_lx *e = expression(p, PREC_OR);
  neo_lp_need(p, ")");
  return e;
}

static const neo_lx *prefix(parser *p, int prec) {
  token at = p->t;
  const neo_lx *x[3] = {0};
  if (neo_lp_accept(p, "-")) {
    x[0] = expression(p, PREC_UNARY);
    return apply(p, at, NEO_OP_NEG, x, 1);
  }
  if (prec <= PREC_NOT && neo_lp_accept(p, "not")) {
    x[0] = expression(p, PREC_NOT);
    return apply(p, at, NEO_OP_NOT, x, 1);
  }
  return atom(p);
}

typedef struct {
  const char *text;
  neo_op op;
  int prec;
} infix;

static const infix *infix_at(const parser *p) {
  static const infix table[] = {
      {"or", NEO_OP_OR, PREC_OR},  {"and", NEO_OP_AND, PREC_AND}, {"==", NEO_OP_EQ, PREC_CMP},
      {"!=", NEO_OP_NE, PREC_CMP}, {"<", NEO_OP_LT, PREC_CMP},    {"<=", NEO_OP_LE, PREC_CMP},
      {"+", NEO_OP_ADD, PREC_ADD}, {"-", NEO_OP_SUB, PREC_ADD},   {"*", NEO_OP_MUL, PREC_MUL},
      {"/", NEO_OP_DIV, PREC_MUL}, {"%", NEO_OP_MOD, PREC_MUL},
  };
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (neo_lp_is(p, table[i].text))
      return &table[i];
  return NULL;
}

static const neo_lx *expression(parser *p, int prec) {
  const infix *op;
  if (++p->nesting > MAX_NESTING)
    neo_lp_expected(p, "less nesting");
  if (p->failed)
    return nothing(p);
  const neo_lx *x = prefix(p, prec);
  while (!p->failed && (op = infix_at(p)) && op->prec >= prec) {
    token at = p->t;
    neo_lp_advance(p);
    const neo_lx *arg[3] = {x, expression(p, op->prec + 1), NULL};
    x = apply(p, at, op->op, arg, 2);
  }
  p->nesting--;
  return x;
}

/* ---- statements */

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
  if (++p->nesting > MAX_NESTING)
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
  const char *s = new_name(p, "a variable");
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
  declare(p, s, N_VAR, var);
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
  neo_reg r = {.name = new_name(p, "a register")};
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
    declare(p, r.name, N_REG, number_);
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
  const neo_lx *e = expression(p, PREC_OR);
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
    rank = indices(p, at, number_, index);
  }
  neo_lp_need(p, "=");
  const neo_lx *value = neo_lp_typed(p, t, "the value");
  if (is_buf && neo_lp_accept(p, "if"))
    cond = neo_lp_typed(p, NEO_BOOL_T, "the condition");
  if (p->failed)
    return;
  if (is_buf)
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
  neo_kbuf b = {.name = new_name(p, "a buffer")};
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
    else if (neo_lp_accept(p, "stream"))
      b.stream = true;
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
    declare(p, b.name, N_BUF, neo_kernel_buf(p->k, b));
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
      const char *s = new_name(p, "a size");
      declare(p, s, N_SIZE, neo_kernel_size(p->k, number_, s));
    } while (neo_lp_accept(p, ","));
  neo_lp_need(p, "units");
  const neo_lx *units = neo_lp_typed(p, NEO_I64_T, "the number of units");
  if (!p->failed)
    p->k->units = units;
  if (neo_lp_accept(p, "persistent"))
    p->k->persistent = neo_lp_take_int(p);
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
