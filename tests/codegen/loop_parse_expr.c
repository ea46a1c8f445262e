/* Parses names and expressions of the loop IR. Every node goes through the builder, so types are
 * checked before it is called. */
#include "codegen/loop/text.h"
#include "loop_parse.h"
#include <ctype.h>
#include <stdlib.h>

enum { PREC_OR = 1, PREC_AND, PREC_NOT, PREC_CMP, PREC_ADD, PREC_MUL, PREC_UNARY };

/* ---- names */

const name *neo_lp_find(const parser *p, const char *s) {
  for (size_t i = p->names.n; i-- > 0;)
    if (neo_streq(p->names.at[i].text, s))
      return &p->names.at[i];
  return NULL;
}

void neo_lp_declare(parser *p, const char *s, name_kind kind, uint32_t number_) {
  name n = {s, kind, number_};
  NEO_PUSH(p->a, &p->names, n);
}

const char *neo_lp_new_name(parser *p, const char *what) {
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

size_t neo_lp_indices(parser *p, token at, uint32_t reg, const neo_lx **index) {
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
  size_t rank = neo_lp_indices(p, at, reg, index);
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
  if (++p->nesting > NEO_LP_NESTING)
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

const neo_lx *neo_lp_expression(parser *p) {
  return expression(p, PREC_OR);
}
