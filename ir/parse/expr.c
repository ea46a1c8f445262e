/* Expressions of the text form: operator precedence, types checked node by node. */
#include "ir/check.h"
#include "ir/interp/interp.h"
#include "ir/parse/parse.h"
#include "ir/text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_HEIGHT = 1000 };

static const neo_expr none = {0};

/* ---- numbers */

/* The offset of the type's name within a number's text. */
static size_t suffix_of(const char *s) {
  size_t k = strspn(s, "0123456789");
  if (s[k] == '.')
    k += 1 + strspn(s + k + 1, "0123456789");
  if (s[k] != 'e')
    return k;
  size_t sign = s[k + 1] == '+' || s[k + 1] == '-';
  return k + 1 + sign + strspn(s + k + 1 + sign, "0123456789");
}

static bool written_type(const char *s, size_t suffix, const neo_type *hint, neo_type *t) {
  if (s[suffix])
    return neo_type_of_text(s + suffix, t) && *t != NEO_BOOL_T;
  *t = hint ? *hint : strcspn(s, ".e") < suffix ? NEO_F32_T : NEO_I64_T;
  return *t != NEO_BOOL_T;
}

static uint64_t largest_magnitude(neo_type t) {
  switch (t) {
  case NEO_I32_T:
    return 1ULL << 31;
  case NEO_I8_T:
    return 128;
  case NEO_U8_T:
    return 255;
  default:
    return 1ULL << 63;
  }
}

static neo_expr integer_literal(neo_ir_parser *p, token t, char *s, neo_type type, bool negative) {
  char *end;
  errno = 0;
  unsigned long long x = strtoull(s, &end, 10);
  uint64_t limit = largest_magnitude(type);
  if (!negative && type != NEO_U8_T)
    limit--;
  if (negative && type == NEO_U8_T)
    limit = 0;
  if (*end || errno || x > limit) {
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, s, "");
    return none;
  }
  return neo_const_int(p->m, type, (int64_t)(negative ? 0 - (uint64_t)x : x));
}

static neo_expr float_literal(neo_ir_parser *p, token t, const char *s, neo_type type,
                              bool negative) {
  double x = strtod(s, NULL);
  if (!isfinite(neo_value_round(type, x))) {
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, s, "");
    return none;
  }
  return neo_const_float(p->m, type, negative ? -x : x);
}

static neo_expr literal(neo_ir_parser *p, const neo_type *hint, bool negative) {
  char s[64];
  neo_type type;
  token t = neo_parse_next(p);
  if (t.n >= sizeof s) {
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, neo_parse_word(p, t), "");
    return none;
  }
  memcpy(s, p->text + t.offset, t.n);
  s[t.n] = 0;
  size_t suffix = suffix_of(s);
  if (!written_type(s, suffix, hint, &type)) {
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, neo_parse_word(p, t), "");
    return none;
  }
  s[suffix] = 0;
  return neo_type_is_float(type) ? float_literal(p, t, s, type, negative)
                                 : integer_literal(p, t, s, type, negative);
}

/* `inf`, `inf_f64`: the type, when the word begins with the stem. */
static bool special_type(neo_ir_parser *p, token t, const char *stem, const neo_type *hint,
                         neo_type *type) {
  const char *word = neo_parse_word(p, t);
  size_t n = strlen(stem);
  if (t.kind != T_NAME || strncmp(word, stem, n) != 0)
    return false;
  *type = hint ? *hint : NEO_F32_T;
  if (word[n] == '_')
    return neo_type_of_text(word + n + 1, type) && neo_type_is_float(*type);
  return !word[n] && neo_type_is_float(*type);
}

static bool special(neo_ir_parser *p, const neo_type *hint, neo_expr *e) {
  token t = neo_parse_peek(p, 0);
  neo_type type;
  if (special_type(p, t, "inf", hint, &type))
    *e = neo_const_float(p->m, type, (double)INFINITY);
  else if (special_type(p, t, "nan", hint, &type))
    *e = neo_const_float(p->m, type, (double)NAN);
  else
    return false;
  (void)neo_parse_next(p);
  return true;
}

neo_expr neo_parse_number(neo_ir_parser *p, const neo_type *hint) {
  neo_expr e = none;
  bool boolean = hint && *hint == NEO_BOOL_T;
  if (boolean && neo_parse_accept(p, "true"))
    return neo_const_bool(p->m, true);
  if (boolean && neo_parse_accept(p, "false"))
    return neo_const_bool(p->m, false);
  bool negative = neo_parse_accept(p, "-");
  if (neo_parse_peek(p, 0).kind == T_NUMBER && !boolean)
    return literal(p, hint, negative);
  if (special(p, hint, &e))
    return negative ? neo_op1(p->m, NEO_OP_NEG, e) : e;
  neo_parse_expected(p, "a number");
  return none;
}

int64_t neo_parse_integer(neo_ir_parser *p) {
  neo_type type = NEO_I64_T;
  int64_t x = 0;
  token t = neo_parse_peek(p, 0);
  neo_expr e = neo_parse_number(p, &type);
  if (e.i && !neo_expr_is_int(p->m, e, &x))
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, neo_parse_word(p, t), "");
  return x;
}

/* ---- nodes */

/* Long sums are deep to the left, where no function of the parser calls itself. */
static uint32_t height_above(const neo_ir_parser *p, const neo_expr *arg, size_t n) {
  uint32_t h = 0;
  for (size_t k = 0; k < n; k++)
    if (arg[k].i < p->height.n && p->height.at[arg[k].i] >= h)
      h = p->height.at[arg[k].i] + 1U;
  return h;
}

static void set_height(neo_ir_parser *p, neo_expr e, uint32_t h) {
  while (p->height.n <= e.i)
    NEO_PUSH(p->arena, &p->height, 0);
  p->height.at[e.i] = (uint16_t)h;
}

static neo_expr make(neo_ir_parser *p, size_t first, neo_op op, neo_type type, uint32_t attr,
                     const neo_expr *arg, size_t n) {
  if (p->failed)
    return none;
  const char *wrong = neo_check_node(p->m, op, type, attr, arg, n);
  if (wrong) {
    neo_parse_fail(p, p->tokens.at[first], NEO_D_IR_TYPE, neo_op_text(op), wrong);
    return none;
  }
  uint32_t h = height_above(p, arg, n);
  if (h > MAX_HEIGHT)
    neo_parse_limit(p, MAX_HEIGHT, "operators in one another");
  neo_expr e = neo_expr_make(p->m, op, type, attr, arg, n, neo_parse_span_from(p, first));
  set_height(p, e, h);
  return e;
}

static neo_expr operation(neo_ir_parser *p, size_t first, neo_op op, const neo_expr *arg,
                          size_t n) {
  if (p->failed)
    return none;
  neo_rule rule = neo_op_rule(op);
  neo_type type = neo_expr_type(p->m, arg[rule == NEO_RULE_SELECT ? 1 : 0]);
  if (rule == NEO_RULE_CMP || rule == NEO_RULE_LOGIC)
    type = NEO_BOOL_T;
  return make(p, first, op, type, 0, arg, n);
}

/* Expressions up to the closing text; at most `limit`. */
static size_t arguments(neo_ir_parser *p, neo_expr *arg, size_t limit, const char *close) {
  size_t n = 0;
  if (neo_parse_accept(p, close))
    return 0;
  do {
    if (n == limit)
      neo_parse_limit(p, (int)limit, "arguments");
    neo_expr e = neo_parse_expr(p);
    if (!p->failed)
      arg[n++] = e;
  } while (neo_parse_accept(p, ","));
  neo_parse_expect(p, close);
  return n;
}

static neo_expr call(neo_ir_parser *p, size_t first) {
  neo_expr arg[4];
  token t = neo_parse_next(p);
  const char *name = neo_parse_word(p, t);
  neo_type type;
  neo_op op = NEO_OP_CAST;
  bool cast = neo_type_of_text(name, &type);
  if (!cast && (!neo_op_of_text(name, &op) || op == NEO_OP_CAST)) {
    neo_parse_fail(p, t, NEO_D_IR_NAME, "function", name);
    return none;
  }
  neo_parse_expect(p, "(");
  size_t n = arguments(p, arg, 4, ")");
  if (!p->failed && (int)n != neo_op_arity(op))
    neo_parse_fail(p, t, NEO_D_IR_TYPE, name, "wrong number of arguments");
  if (p->failed)
    return none;
  return cast ? make(p, first, op, type, 0, arg, n) : operation(p, first, op, arg, n);
}

static neo_expr rand_call(neo_ir_parser *p, size_t first) {
  neo_type type = NEO_F32_T;
  (void)special_type(p, neo_parse_next(p), "rand", NULL, &type);
  neo_parse_expect(p, "(");
  token t = neo_parse_peek(p, 0);
  int64_t site = neo_parse_integer(p);
  if (!p->failed && (site < 0 || site >= p->m->n_sites))
    neo_parse_fail(p, t, NEO_D_IR_NAME, "site", neo_parse_word(p, t));
  neo_parse_expect(p, ",");
  neo_expr e = neo_parse_expr(p);
  neo_parse_expect(p, ")");
  return make(p, first, NEO_OP_RAND, type, (uint32_t)site, &e, 1);
}

/* ---- names */

neo_tensor neo_parse_tensor(neo_ir_parser *p) {
  token t = neo_parse_peek(p, 0);
  uint64_t id = 0;
  if (t.kind == T_ANON) {
    id = neo_parse_tag(p, neo_parse_next(p));
    if (id >= p->m->tensors.n || p->m->tensors.at[id].name)
      id = 0;
  } else {
    uint32_t name = neo_parse_name(p, "a tensor");
    if (p->failed || !neo_map_get(&p->tensors, name, &id))
      id = 0;
  }
  if (!id)
    neo_parse_fail(p, t, NEO_D_IR_NAME, "tensor", neo_parse_word(p, t));
  if (!p->failed && p->bad_tensors.at[id])
    p->failed = true;
  return (neo_tensor){p->failed ? 0 : (uint32_t)id};
}

static neo_expr load(neo_ir_parser *p, size_t first) {
  neo_expr arg[NEO_NODE_ARGS];
  neo_tensor t = neo_parse_tensor(p);
  neo_parse_expect(p, "[");
  size_t n = arguments(p, arg, NEO_DEF_AXES, "]");
  if (p->failed)
    return none;
  neo_type type = neo_tensor_type(p->m, t);
  return make(p, first, NEO_OP_LOAD, type, t.i, arg, n);
}

static neo_expr axis_or_size(neo_ir_parser *p) {
  token t = neo_parse_next(p);
  uint64_t id = 0;
  if (t.kind == T_ANON) {
    id = neo_parse_tag(p, t);
    if (id >= p->m->sizes.n || p->m->sizes.at[id].name)
      id = 0;
  } else {
    uint32_t name = neo_parse_text_name(p, t);
    for (uint32_t k = 0; k < p->n_axes; k++)
      if (p->axis[k] == name)
        return neo_axis_ref(p->m, k);
    if (!neo_map_get(&p->sizes, name, &id))
      id = 0;
  }
  if (id && !p->failed)
    return neo_size_ref(p->m, (neo_size){(uint32_t)id});
  neo_parse_fail(p, t, NEO_D_IR_NAME, "axis or size", neo_parse_word(p, t));
  return none;
}

void neo_parse_named(neo_ir_parser *p, neo_expr e) {
  set_height(p, e, 0);
}

static neo_expr let_ref(neo_ir_parser *p) {
  token t = neo_parse_next(p);
  uint64_t e;
  if (neo_map_get(&p->lets, neo_parse_tag(p, t), &e))
    return (neo_expr){(uint32_t)e};
  neo_parse_fail(p, t, NEO_D_IR_NAME, "name", neo_parse_word(p, t));
  return none;
}

static neo_expr acc_ref(neo_ir_parser *p) {
  token t = neo_parse_next(p);
  uint32_t k = (uint32_t)(p->text[t.offset + t.n - 1] - '0');
  if (k < p->n_accs)
    return neo_acc_ref(p->m, p->acc[k], k);
  neo_parse_fail(p, t, NEO_D_IR_NAME, "result of the reduction", neo_parse_word(p, t));
  return none;
}

/* ---- grammar */

static bool word_begins(const neo_ir_parser *p, token t, const char *stem) {
  size_t n = strlen(stem);
  return t.kind == T_NAME && t.n >= n && memcmp(p->text + t.offset, stem, n) == 0;
}

static neo_expr reserved_word(neo_ir_parser *p, size_t first) {
  token t = neo_parse_peek(p, 0);
  neo_expr e = none;
  if (special(p, NULL, &e))
    return e;
  if (neo_parse_accept(p, "true"))
    return neo_const_bool(p->m, true);
  if (neo_parse_accept(p, "false"))
    return neo_const_bool(p->m, false);
  if (neo_parse_accept(p, "training"))
    return make(p, first, NEO_OP_TRAINING, NEO_BOOL_T, 0, NULL, 0);
  if (neo_parse_accept(p, "step"))
    return make(p, first, NEO_OP_STEP, NEO_I64_T, 0, NULL, 0);
  if (word_begins(p, t, "rand"))
    return rand_call(p, first);
  if (word_begins(p, t, "acc"))
    return acc_ref(p);
  neo_parse_expected(p, "an expression");
  return none;
}

static neo_expr word(neo_ir_parser *p, size_t first) {
  token t = neo_parse_peek(p, 0), after = neo_parse_peek(p, 1);
  char c = after.kind == T_PUNCT ? p->text[after.offset] : 0;
  if (t.kind == T_NAME && c == '(' && !word_begins(p, t, "rand"))
    return call(p, first);
  if (t.kind == T_NAME && neo_text_reserved(p->text + t.offset, t.n))
    return reserved_word(p, first);
  return c == '[' ? load(p, first) : axis_or_size(p);
}

static neo_expr load_else(neo_ir_parser *p, size_t first, neo_expr read) {
  neo_expr arg[NEO_NODE_ARGS];
  if (p->failed)
    return none;
  neo_node n = *neo_expr_node(p->m, read);
  if (n.op != NEO_OP_LOAD) {
    neo_parse_fail(p, p->tokens.at[first], NEO_D_IR_TYPE, "else", "only an element can be absent");
    return none;
  }
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(p->m, n.arg, k);
  arg[n.arg.n] = neo_parse_expr(p);
  return make(p, first, NEO_OP_LOAD_ELSE, (neo_type)n.type, n.attr, arg, n.arg.n + 1);
}

static neo_expr atom(neo_ir_parser *p) {
  size_t first = p->at;
  token t = neo_parse_peek(p, 0);
  if (t.kind == T_NUMBER)
    return literal(p, NULL, false);
  if (t.kind == T_LET)
    return let_ref(p);
  if (t.kind == T_NAME || t.kind == T_STRING || t.kind == T_ANON)
    return word(p, first);
  if (!neo_parse_accept(p, "(")) {
    neo_parse_expected(p, "an expression");
    return none;
  }
  neo_expr e = neo_parse_expr(p);
  if (neo_parse_accept(p, "else"))
    e = load_else(p, first, e);
  neo_parse_expect(p, ")");
  return e;
}

static neo_expr unary(neo_ir_parser *p) {
  size_t first = p->at;
  token after = neo_parse_peek(p, 1);
  if (!neo_parse_is(p, "-"))
    return atom(p);
  /* A sign and a literal are one number: the least integer has no opposite. */
  if (after.kind == T_NUMBER)
    return neo_parse_number(p, NULL);
  (void)neo_parse_next(p);
  if (++p->depth > NEO_TEXT_DEPTH)
    neo_parse_limit(p, NEO_TEXT_DEPTH, "levels of nesting");
  neo_expr e = unary(p);
  p->depth--;
  return operation(p, first, NEO_OP_NEG, &e, 1);
}

static bool infix(neo_ir_parser *p, const char *const *texts, const neo_op *ops, size_t n,
                  neo_op *op) {
  for (size_t k = 0; k < n; k++)
    if (neo_parse_accept(p, texts[k])) {
      *op = ops[k];
      return true;
    }
  return false;
}

static neo_expr product(neo_ir_parser *p) {
  static const char *const texts[] = {"*", "/", "%"};
  static const neo_op ops[] = {NEO_OP_MUL, NEO_OP_DIV, NEO_OP_MOD};
  size_t first = p->at;
  neo_expr arg[2] = {unary(p)};
  for (neo_op op; infix(p, texts, ops, 3, &op);) {
    arg[1] = unary(p);
    arg[0] = operation(p, first, op, arg, 2);
  }
  return arg[0];
}

neo_expr neo_parse_sum(neo_ir_parser *p) {
  static const char *const texts[] = {"+", "-"};
  static const neo_op ops[] = {NEO_OP_ADD, NEO_OP_SUB};
  size_t first = p->at;
  neo_expr arg[2] = {product(p)};
  for (neo_op op; infix(p, texts, ops, 2, &op);) {
    arg[1] = product(p);
    arg[0] = operation(p, first, op, arg, 2);
  }
  return arg[0];
}

static neo_expr comparison(neo_ir_parser *p) {
  static const char *const texts[] = {"==", "!=", "<=", "<"};
  static const neo_op ops[] = {NEO_OP_EQ, NEO_OP_NE, NEO_OP_LE, NEO_OP_LT};
  size_t first = p->at;
  neo_op op;
  neo_expr arg[2] = {neo_parse_sum(p)};
  if (!infix(p, texts, ops, 4, &op))
    return arg[0];
  arg[1] = neo_parse_sum(p);
  return operation(p, first, op, arg, 2);
}

static neo_expr negation(neo_ir_parser *p) {
  size_t first = p->at;
  if (!neo_parse_accept(p, "not"))
    return comparison(p);
  if (++p->depth > NEO_TEXT_DEPTH)
    neo_parse_limit(p, NEO_TEXT_DEPTH, "levels of nesting");
  neo_expr e = negation(p);
  p->depth--;
  return operation(p, first, NEO_OP_NOT, &e, 1);
}

static neo_expr conjunction(neo_ir_parser *p) {
  size_t first = p->at;
  neo_expr arg[2] = {negation(p)};
  while (neo_parse_accept(p, "and")) {
    arg[1] = negation(p);
    arg[0] = operation(p, first, NEO_OP_AND, arg, 2);
  }
  return arg[0];
}

neo_expr neo_parse_expr(neo_ir_parser *p) {
  size_t first = p->at;
  if (++p->depth > NEO_TEXT_DEPTH)
    neo_parse_limit(p, NEO_TEXT_DEPTH, "levels of nesting");
  neo_expr arg[2] = {conjunction(p)};
  while (neo_parse_accept(p, "or")) {
    arg[1] = conjunction(p);
    arg[0] = operation(p, first, NEO_OP_OR, arg, 2);
  }
  p->depth--;
  return p->failed ? none : arg[0];
}
