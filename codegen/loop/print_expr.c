/* Prints names and expressions of the loop IR (loop/print.c has their form). */
#include "base/hash.h"
#include "codegen/loop/print.h"
#include "codegen/loop/text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LET_SIZE = 64, LET_DEPTH = 64 };

/* ---- names */

const char *const neo_loop_words[] = {"for",
                                      "in",
                                      "step",
                                      "if",
                                      "else",
                                      "reg",
                                      "kernel",
                                      "units",
                                      "sizes",
                                      "origin",
                                      "read",
                                      "write",
                                      "scratch",
                                      "unit",
                                      "unroll",
                                      "vector",
                                      "thread",
                                      "threads",
                                      "noalias",
                                      "nontemporal",
                                      "align",
                                      "tensor",
                                      "from",
                                      "and",
                                      "or",
                                      "not",
                                      "true",
                                      "false",
                                      "inf",
                                      "nan",
                                      "rand",
                                      "fma",
                                      "pair",
                                      "dot",
                                      "let",
                                      "tile",
                                      "prefetch",
                                      "l2",
                                      "shuffle",
                                      "mma",
                                      "ldmatrix",
                                      "wgmma",
                                      "transposed",
                                      "wgmma_wait",
                                      "copy",
                                      "copy_commit",
                                      "copy_wait",
                                      "tma_copy",
                                      "expect_tx",
                                      "mbarrier_wait",
                                      "mbarrier_arrive",
                                      "producer",
                                      "consumers",
                                      "registers",
                                      "persistent",
                                      NULL};

static bool is_word(const char *s) {
  neo_op op;
  neo_type t;
  for (int i = 0; neo_loop_words[i]; i++)
    if (neo_streq(neo_loop_words[i], s))
      return true;
  return neo_op_of_text(s, &op) || neo_type_of_text(s, &t);
}

/* The hash of a name, by which names are found, because a kernel may have thousands. Two names with
 * the same hash count as equal, and one of them gets a number that it would not need. */
static uint64_t hash_of(const char *s) {
  return neo_hash(s, strlen(s), 0);
}

static bool is_taken(const printer *p, const char *s) {
  uint64_t n = 0;
  return is_word(s) || (neo_map_get(&p->taken, hash_of(s), &n) && n);
}

static void change(printer *p, const char *s, uint64_t by) {
  uint64_t n = 0;
  (void)neo_map_get(&p->taken, hash_of(s), &n);
  neo_map_set(&p->taken, hash_of(s), n + by);
}

void neo_lo_release(printer *p, const char *word) {
  change(p, word, (uint64_t)-1);
}

void neo_lo_take(printer *p, const char *word) {
  change(p, word, 1);
}

const char *neo_lo_word_of(neo_arena *a, const char *name) {
  char *s = neo_arena_strdup(a, name && *name ? name : "_");
  for (char *c = s; *c; c++) {
    bool dot = *c == '.' && c > s && (isalnum((unsigned char)c[1]) || c[1] == '_');
    if (!isalnum((unsigned char)*c) && *c != '_' && !dot)
      *c = '_';
  }
  return isdigit((unsigned char)s[0]) ? neo_arena_printf(a, "_%s", s) : s;
}

const char *neo_lo_distinct(printer *p, const char *name) {
  const char *word = neo_lo_word_of(p->arena, name), *s = word;
  for (int i = 2; is_taken(p, s); i++)
    s = neo_arena_printf(p->arena, "%s_%d", word, i);
  neo_lo_take(p, s);
  return s;
}

void neo_lo_name_all(printer *p) {
  const neo_kernel *k = p->k;
  neo_map_init(&p->taken, p->arena);
  p->buf = NEO_NEW_ARRAY(p->arena, const char *, k->bufs.n + 1);
  p->reg = NEO_NEW_ARRAY(p->arena, const char *, k->regs.n + 1);
  p->size = NEO_NEW_ARRAY(p->arena, const char *, k->sizes.n + 1);
  p->var = NEO_NEW_ARRAY(p->arena, const char *, k->vars.n + 1);
  for (size_t i = 0; i < k->bufs.n; i++)
    p->buf[i] = neo_lo_distinct(p, k->bufs.at[i].name);
  for (size_t i = 0; i < k->sizes.n; i++)
    p->size[i] = neo_lo_distinct(p, k->sizes.at[i]);
  for (size_t i = 0; i < k->regs.n; i++)
    p->reg[i] = neo_lo_distinct(p, k->regs.at[i].name);
}

/* ---- constants */

static void print_float(printer *p, neo_type t, double x) {
  char text[40];
  if (!isfinite(x)) {
    snprintf(text, sizeof text, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
  } else {
    for (int digits = 1; digits <= 17; digits++) {
      snprintf(text, sizeof text, "%.*g", digits, x);
      double back = strtod(text, NULL);
      if ((t == NEO_F64_T ? back : (double)(float)back) == x)
        break;
    }
    if (!strpbrk(text, ".e"))
      strcat(text, ".0");
  }
  neo_str_add(p->out, text);
  if (t != NEO_F32_T)
    neo_str_addf(p->out, ":%s", neo_type_text(t));
}

static void print_constant(printer *p, const neo_lx *e) {
  neo_type t = (neo_type)e->type;
  double x;
  memcpy(&x, &e->bits, sizeof x);
  if (neo_type_is_float(t))
    print_float(p, t, x);
  else if (t == NEO_BOOL_T)
    neo_str_add(p->out, e->bits ? "true" : "false");
  else
    neo_str_addf(p->out, "%lld", (long long)e->bits);
  if (neo_type_is_int(t) && t != NEO_I64_T)
    neo_str_addf(p->out, ":%s", neo_type_text(t));
}

/* ---- expressions */

static int op_prec(neo_op op) {
  switch (op) {
  case NEO_OP_OR:
    return PREC_OR;
  case NEO_OP_AND:
    return PREC_AND;
  case NEO_OP_NOT:
    return PREC_NOT;
  case NEO_OP_EQ:
  case NEO_OP_NE:
  case NEO_OP_LT:
  case NEO_OP_LE:
    return PREC_CMP;
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    return PREC_ADD;
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_MOD:
    return PREC_MUL;
  case NEO_OP_NEG:
    return PREC_UNARY;
  default:
    return PREC_ATOM;
  }
}

static bool is_negative(const neo_lx *e) {
  int64_t x;
  double f;
  memcpy(&f, &e->bits, sizeof f);
  if (e->kind != NEO_LX_CONST)
    return false;
  return neo_lx_is_int(e, &x) ? x < 0 : signbit(f) != 0;
}

static int precedence(const neo_lx *e) {
  if (e->kind == NEO_LX_CONST)
    return is_negative(e) ? PREC_UNARY : PREC_ATOM;
  return e->kind == NEO_LX_OP ? op_prec((neo_op)e->attr) : PREC_ATOM;
}

void neo_lo_list(printer *p, const neo_lx *const *arg, size_t n) {
  for (size_t k = 0; k < n; k++) {
    if (k)
      neo_str_add(p->out, ", ");
    neo_lo_expr(p, arg[k], PREC_OR);
  }
}

static void print_call(printer *p, const char *name, const neo_lx *e) {
  neo_str_addf(p->out, "%s(", name);
  neo_lo_list(p, e->arg, e->n);
  neo_str_addc(p->out, ')');
}

/* x + -3 as x - 3; the parser folds it back. */
static bool print_minus(printer *p, const neo_lx *e) {
  int64_t c;
  if (e->attr != NEO_OP_ADD || e->type != NEO_I64_T || !neo_lx_is_int(e->arg[1], &c))
    return false;
  if (c >= 0 || c == INT64_MIN)
    return false;
  neo_lo_expr(p, e->arg[0], PREC_ADD);
  neo_str_addf(p->out, " - %lld", -(long long)c);
  return true;
}

static void print_binary(printer *p, const neo_lx *e, int prec) {
  bool tight = prec == PREC_MUL && e->type == NEO_I64_T;
  if (print_minus(p, e))
    return;
  neo_lo_expr(p, e->arg[0], prec == PREC_CMP ? prec + 1 : prec);
  neo_str_addf(p->out, tight ? "%s" : " %s ", neo_op_text((neo_op)e->attr));
  neo_lo_expr(p, e->arg[1], prec + 1);
}

static void print_op(printer *p, const neo_lx *e) {
  neo_op op = (neo_op)e->attr;
  int prec = op_prec(op);
  if (op == NEO_OP_CAST) {
    print_call(p, neo_type_text((neo_type)e->type), e);
  } else if (prec == PREC_ATOM) {
    print_call(p, neo_op_text(op), e);
  } else if (e->n == 2) {
    print_binary(p, e, prec);
  } else {
    neo_str_add(p->out, op == NEO_OP_NOT ? "not " : "-");
    neo_lo_expr(p, e->arg[0], prec);
  }
}

static void print_load(printer *p, const neo_lx *e) {
  neo_str_addf(p->out, "%s[", p->buf[e->attr]);
  neo_lo_expr(p, e->arg[0], PREC_OR);
  if (e->kind == NEO_LX_LOADIF) {
    neo_str_add(p->out, " if ");
    neo_lo_expr(p, e->arg[1], PREC_OR);
    neo_str_add(p->out, " else ");
    neo_lo_expr(p, e->arg[2], PREC_OR);
  }
  neo_str_addc(p->out, ']');
}

static void print_whole(printer *p, const neo_lx *e) {
  static const char *const keys[] = {"@seed", "@step", "@call"};
  switch ((neo_lx_kind)e->kind) {
  case NEO_LX_CONST:
    print_constant(p, e);
    break;
  case NEO_LX_VAR:
    neo_str_add(p->out, p->var[e->attr] ? p->var[e->attr] : "?");
    break;
  case NEO_LX_SIZE:
    neo_str_add(p->out, e->attr < p->k->sizes.n ? p->size[e->attr] : "?");
    break;
  case NEO_LX_KEY:
    neo_str_add(p->out, keys[e->attr]);
    break;
  case NEO_LX_LOAD:
  case NEO_LX_LOADIF:
    print_load(p, e);
    break;
  case NEO_LX_REG:
    neo_str_addf(p->out, "%s[", p->reg[e->attr]);
    neo_lo_list(p, e->arg, e->n);
    neo_str_addc(p->out, ']');
    break;
  case NEO_LX_RAND:
    print_call(
        p, neo_arena_printf(p->arena, e->type == NEO_F64_T ? "rand@%u:f64" : "rand@%u", e->attr),
        e);
    break;
  case NEO_LX_FMA:
    print_call(p, "fma", e);
    break;
  case NEO_LX_PAIR:
    print_call(p, "pair", e);
    break;
  case NEO_LX_DOT:
    print_call(p, "dot", e);
    break;
  default:
    print_op(p, e);
  }
}

void neo_lo_expr(printer *p, const neo_lx *e, int prec) {
  uint32_t let = p->node[e->id].statement == p->statement ? p->node[e->id].let : 0;
  if (let) {
    neo_str_addf(p->out, "%%%u", let - 1);
    return;
  }
  bool paren = precedence(e) < prec;
  if (paren)
    neo_str_addc(p->out, '(');
  print_whole(p, e);
  if (paren)
    neo_str_addc(p->out, ')');
}

/* ---- shared parts */

static uint64_t count(printer *p, const neo_lx *e) {
  bool seen = p->node[e->id].statement == p->statement;
  if (!seen)
    p->node[e->id].uses = p->node[e->id].let = 0;
  p->node[e->id].statement = p->statement;
  p->node[e->id].uses++;
  if (seen)
    return p->node[e->id].tree;
  uint64_t n = 1;
  uint32_t deepest = 0;
  for (uint32_t k = 0; k < e->n; k++) {
    n += count(p, e->arg[k]);
    if (p->node[e->arg[k]->id].depth > deepest)
      deepest = p->node[e->arg[k]->id].depth;
  }
  if (n > UINT32_MAX)
    n = UINT32_MAX;
  p->node[e->id].depth = deepest + 1;
  NEO_PUSH(p->arena, &p->order, e);
  return p->node[e->id].tree = n;
}

void neo_lo_indent(printer *p, int depth) {
  for (int i = 0; i < depth; i++)
    neo_str_add(p->out, "  ");
}

void neo_lo_lets(printer *p, const neo_lx *const *e, size_t n, int depth) {
  uint64_t size = 0;
  uint32_t n_lets = 0;
  p->statement++;
  p->order.n = 0;
  for (size_t i = 0; i < n; i++)
    size += count(p, e[i]);
  if (size <= LET_SIZE)
    return;
  for (size_t i = 0; i < p->order.n; i++) {
    const neo_lx *shared = p->order.at[i];
    uint32_t id = shared->id;
    if (shared->n == 0 || (p->node[id].uses < 2 && p->node[id].depth % LET_DEPTH))
      continue;
    neo_lo_indent(p, depth);
    neo_str_addf(p->out, "let %%%u = ", n_lets);
    neo_lo_expr(p, shared, PREC_OR);
    neo_str_addc(p->out, '\n');
    p->node[id].let = ++n_lets;
  }
}
