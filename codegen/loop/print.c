/* Kernels as text. Parsing the text gives a kernel that prints the same.
 *
 *   neo-loop 2
 *   kernel H(X: f32 read noalias align 64, s: f32 scratch 128) sizes B units B
 *   for b in 0..B unit
 *     reg acc[2, 8]: f32
 *     for l in 0..8 vector
 *       acc[0, l] = X[b*8 + l if l < 4 else 0.0]
 *       X[b*8 + l] = acc[0, l] if b < 3
 *
 * Constants show their type: 5 is i64, 5:i32; 0.5 is f32, 0.5:f64; true. A cast is a call of the
 * type's name. @seed, @step, @call are the key; rand@3(e), rand@3:f64(e) random numbers of a site.
 * Names that are equal, or not words, are made distinct words. Where a statement's expressions are
 * large, what they share, and what nests deep, is printed once in lines `let %0 = e` before it: the
 * text is no longer than the graph, and a parser needs no deep stack. */
#include "codegen/loop/loop.h"
#include "codegen/loop/text.h"
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LET_SIZE = 64, LET_DEPTH = 64 };
enum { PREC_OR = 1, PREC_AND, PREC_NOT, PREC_CMP, PREC_ADD, PREC_MUL, PREC_UNARY, PREC_ATOM };

typedef struct {
  const neo_kernel *k;
  neo_arena *arena;
  neo_str *out;
  const char **buf, **reg, **size, **var; /* names as printed; var: null outside its loop */
  struct {
    uint64_t tree;      /* nodes of the expression written out, saturating; 0: not counted */
    uint32_t uses, let; /* in this statement; number of its let + 1 */
    uint32_t depth;
    uint32_t statement;
  } * node;
  uint32_t statement;
  NEO_VEC(const neo_lx *) order; /* of this statement's nodes, arguments first */
} printer;

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
                                      "read",
                                      "write",
                                      "scratch",
                                      "unit",
                                      "unroll",
                                      "vector",
                                      "thread",
                                      "threads",
                                      "noalias",
                                      "stream",
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

static bool taken_in(const char **names, size_t n, const char *s) {
  for (size_t i = 0; i < n; i++)
    if (names[i] && neo_streq(names[i], s))
      return true;
  return false;
}

static bool is_taken(const printer *p, const char *s) {
  const neo_kernel *k = p->k;
  return is_word(s) || taken_in(p->buf, k->bufs.n, s) || taken_in(p->reg, k->regs.n, s) ||
         taken_in(p->size, k->sizes.n, s) || taken_in(p->var, k->vars.n, s);
}

/* Letters, digits, _, and dots between them; not starting with a digit. */
static const char *word_of(neo_arena *a, const char *name) {
  char *s = neo_arena_strdup(a, name && *name ? name : "_");
  for (char *c = s; *c; c++) {
    bool dot = *c == '.' && c > s && (isalnum((unsigned char)c[1]) || c[1] == '_');
    if (!isalnum((unsigned char)*c) && *c != '_' && !dot)
      *c = '_';
  }
  return isdigit((unsigned char)s[0]) ? neo_arena_printf(a, "_%s", s) : s;
}

static const char *distinct(printer *p, const char *name) {
  const char *word = word_of(p->arena, name), *s = word;
  for (int i = 2; is_taken(p, s); i++)
    s = neo_arena_printf(p->arena, "%s_%d", word, i);
  return s;
}

static void name_all(printer *p) {
  const neo_kernel *k = p->k;
  p->buf = NEO_NEW_ARRAY(p->arena, const char *, k->bufs.n + 1);
  p->reg = NEO_NEW_ARRAY(p->arena, const char *, k->regs.n + 1);
  p->size = NEO_NEW_ARRAY(p->arena, const char *, k->sizes.n + 1);
  p->var = NEO_NEW_ARRAY(p->arena, const char *, k->vars.n + 1);
  for (size_t i = 0; i < k->bufs.n; i++)
    p->buf[i] = distinct(p, k->bufs.at[i].name);
  for (size_t i = 0; i < k->sizes.n; i++)
    p->size[i] = distinct(p, k->sizes.at[i]);
  for (size_t i = 0; i < k->regs.n; i++)
    p->reg[i] = distinct(p, k->regs.at[i].name);
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

static void print(printer *p, const neo_lx *e, int prec);

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

static void print_list(printer *p, const neo_lx *const *arg, size_t n) {
  for (size_t k = 0; k < n; k++) {
    if (k)
      neo_str_add(p->out, ", ");
    print(p, arg[k], PREC_OR);
  }
}

static void print_call(printer *p, const char *name, const neo_lx *e) {
  neo_str_addf(p->out, "%s(", name);
  print_list(p, e->arg, e->n);
  neo_str_addc(p->out, ')');
}

/* x + -3 as x - 3; the parser folds it back. */
static bool print_minus(printer *p, const neo_lx *e) {
  int64_t c;
  if (e->attr != NEO_OP_ADD || e->type != NEO_I64_T || !neo_lx_is_int(e->arg[1], &c))
    return false;
  if (c >= 0 || c == INT64_MIN)
    return false;
  print(p, e->arg[0], PREC_ADD);
  neo_str_addf(p->out, " - %lld", -(long long)c);
  return true;
}

static void print_binary(printer *p, const neo_lx *e, int prec) {
  bool tight = prec == PREC_MUL && e->type == NEO_I64_T;
  if (print_minus(p, e))
    return;
  print(p, e->arg[0], prec == PREC_CMP ? prec + 1 : prec);
  neo_str_addf(p->out, tight ? "%s" : " %s ", neo_op_text((neo_op)e->attr));
  print(p, e->arg[1], prec + 1);
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
    print(p, e->arg[0], prec);
  }
}

static void print_load(printer *p, const neo_lx *e) {
  neo_str_addf(p->out, "%s[", p->buf[e->attr]);
  print(p, e->arg[0], PREC_OR);
  if (e->kind == NEO_LX_LOADIF) {
    neo_str_add(p->out, " if ");
    print(p, e->arg[1], PREC_OR);
    neo_str_add(p->out, " else ");
    print(p, e->arg[2], PREC_OR);
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
    print_list(p, e->arg, e->n);
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

static void print(printer *p, const neo_lx *e, int prec) {
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

static void indent(printer *p, int depth) {
  for (int i = 0; i < depth; i++)
    neo_str_add(p->out, "  ");
}

/* Prints the lets that the expressions of a statement need. */
static void print_lets(printer *p, const neo_lx *const *e, size_t n, int depth) {
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
    indent(p, depth);
    neo_str_addf(p->out, "let %%%u = ", n_lets);
    print(p, shared, PREC_OR);
    neo_str_addc(p->out, '\n');
    p->node[id].let = ++n_lets;
  }
}

/* ---- statements */

static void print_block(printer *p, const neo_block *b, int depth);

static void print_end(printer *p) {
  neo_str_addc(p->out, '\n');
}

static void print_number(printer *p, const char *before, int64_t x) {
  neo_str_addf(p->out, "%s%lld", before, (long long)x);
}

static void print_in(printer *p, const char *name, const neo_lx *index) {
  neo_str_addf(p->out, "%s[", name);
  print(p, index, PREC_OR);
  neo_str_addc(p->out, ']');
}

static void print_element(printer *p, const neo_element *e) {
  print_in(p, p->buf[e->buf], e->offset);
}

static void print_where(printer *p, const neo_lx *cond) {
  if (!cond)
    return;
  neo_str_add(p->out, " if ");
  print(p, cond, PREC_OR);
}

static void print_for(printer *p, const neo_ls *s, int depth) {
  static const char *const kinds[] = {"", " unit", " unroll", " vector", " thread"};
  const char *before = p->var[s->loop.var];
  p->var[s->loop.var] = NULL;
  const char *name = distinct(p, p->k->vars.at[s->loop.var]);
  neo_str_addf(p->out, "for %s in ", name);
  print(p, s->loop.lo, PREC_ADD);
  neo_str_add(p->out, "..");
  print(p, s->loop.hi, PREC_ADD);
  if (s->loop.step != 1)
    print_number(p, " step ", s->loop.step);
  neo_str_addf(p->out, "%s\n", kinds[s->loop.kind]);
  p->var[s->loop.var] = name;
  print_block(p, &s->loop.body, depth + 1);
  p->var[s->loop.var] = before;
}

static void print_if(printer *p, const neo_ls *s, int depth) {
  neo_str_add(p->out, "if ");
  print(p, s->branch.cond, PREC_OR);
  print_end(p);
  print_block(p, &s->branch.then, depth + 1);
  if (!s->branch.otherwise.n)
    return;
  indent(p, depth);
  neo_str_add(p->out, "else\n");
  print_block(p, &s->branch.otherwise, depth + 1);
}

static void print_specialize(printer *p, const neo_ls *s, int depth) {
  const uint32_t *registers = s->specialize.registers;
  neo_str_addf(p->out, "producer registers %u, %u\n", registers[NEO_PRODUCER],
               registers[NEO_CONSUMER]);
  print_block(p, &s->specialize.arm[NEO_PRODUCER], depth + 1);
  indent(p, depth);
  neo_str_add(p->out, "consumers\n");
  print_block(p, &s->specialize.arm[NEO_CONSUMER], depth + 1);
}

static void print_reg(printer *p, const neo_ls *s) {
  const neo_reg *r = &p->k->regs.at[s->declare.reg];
  neo_str_addf(p->out, "reg %s[", p->reg[s->declare.reg]);
  for (uint32_t d = 0; d < r->rank; d++)
    print_number(p, d ? ", " : "", r->extent[d]);
  neo_str_addf(p->out, "]: %s", neo_type_text((neo_type)r->type));
  if (r->threads)
    print_number(p, " threads ", r->threads);
}

static void print_set(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "%s[", p->reg[s->set.reg]);
  print_list(p, s->set.index, s->set.n_index);
  neo_str_add(p->out, "] = ");
  print(p, s->set.value, PREC_OR);
}

static void print_store(printer *p, const neo_ls *s) {
  print_element(p, &s->store.to);
  neo_str_add(p->out, " = ");
  print(p, s->store.value, PREC_OR);
  print_where(p, s->store.cond);
}

/* tile load 4, rows[512*k] pitch 16 */
static void print_tile(printer *p, const neo_ls *s) {
  const neo_tile_row *row = &neo_tile_rows[s->tile.op];
  neo_str_addf(p->out, "tile %s", row->text);
  for (uint32_t i = 0; i < row->registers; i++)
    neo_str_addf(p->out, "%s%u", i ? ", " : " ", s->tile.reg[i]);
  if (!row->memory)
    return;
  neo_str_add(p->out, ", ");
  print_element(p, &s->tile.element);
  print_number(p, " pitch ", s->tile.pitch);
}

/* shuffle other, sum down 4 of 32 */
static void print_shuffle(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "shuffle %s, %s %s %u of %u", p->reg[s->shuffle.to], p->reg[s->shuffle.from],
               s->shuffle.what == NEO_SHUFFLE_DOWN ? "down" : "first", s->shuffle.n, s->shuffle.of);
}

/* mma tf32 acc[i], a[i], b[0] */
static void print_mma(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "mma %s", neo_mma_rows[s->mma.op].text);
  for (int i = 0; i < 3; i++) {
    neo_str_add(p->out, i ? ", " : " ");
    print_in(p, p->reg[s->mma.part[i].reg], s->mma.part[i].at);
  }
}

/* ldmatrix x4 a[i], rows[at[0] + 64] */
static void print_ldmatrix(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "ldmatrix %s ", neo_ldmatrix_rows[s->ldmatrix.op].text);
  print_in(p, p->reg[s->ldmatrix.to.reg], s->ldmatrix.to.at);
  neo_str_add(p->out, ", ");
  print_element(p, &s->ldmatrix.from);
}

/* wgmma tf32 acc, rows[0], columns[0] across 2 */
static void print_wgmma(printer *p, const neo_ls *s) {
  neo_str_addf(p->out, "wgmma %s %s", neo_wgmma_rows[s->wgmma.op].text, p->reg[s->wgmma.acc]);
  for (int i = 0; i < 2; i++) {
    neo_str_add(p->out, s->wgmma.transposed[i] ? ", transposed " : ", ");
    print_element(p, &s->wgmma.factor[i]);
  }
  print_number(p, " across ", s->wgmma.across);
}

static void print_wgmma_wait(printer *p, const neo_ls *s) {
  print_number(p, "wgmma_wait ", s->wgmma_wait.pending);
  neo_str_addf(p->out, ", %s", p->reg[s->wgmma_wait.acc]);
}

/* copy 4 rows[t*4] = X[b*256 + t*4] if t < n */
static void print_copy(printer *p, const neo_ls *s) {
  print_number(p, "copy ", s->copy.elements);
  neo_str_addc(p->out, ' ');
  print_element(p, &s->copy.to);
  neo_str_add(p->out, " = ");
  print_element(p, &s->copy.from);
  print_where(p, s->copy.cond);
}

/* tma_copy rows[0] = X[k of 100 by 1 box 64, i of B by 100 box 128] on full[0] */
static void print_tma_copy(printer *p, const neo_ls *s) {
  const neo_box *b = s->tma_copy.box;
  neo_str_add(p->out, "tma_copy ");
  print_element(p, &s->tma_copy.to);
  neo_str_addf(p->out, " = %s[", p->buf[s->tma_copy.from]);
  for (uint32_t d = 0; d < b->rank; d++) {
    if (d)
      neo_str_add(p->out, ", ");
    print(p, b->at[d], PREC_OR);
    neo_str_add(p->out, " of ");
    print(p, b->extent[d], PREC_OR);
    print_number(p, " by ", b->stride[d]);
    print_number(p, " box ", b->count[d]);
  }
  neo_str_add(p->out, "] on ");
  print_element(p, &s->tma_copy.mbarrier);
}

/* expect_tx 16384 on full[0]; mbarrier_wait full[0] parity 1; mbarrier_arrive empty[0] */
static void print_mbarrier(printer *p, const neo_ls *s) {
  if (s->kind == NEO_LS_EXPECT_TX) {
    print_number(p, "expect_tx ", s->expect_tx.bytes);
    neo_str_add(p->out, " on ");
    print_element(p, &s->expect_tx.mbarrier);
  } else if (s->kind == NEO_LS_MBARRIER_WAIT) {
    neo_str_add(p->out, "mbarrier_wait ");
    print_element(p, &s->mbarrier_wait.mbarrier);
    neo_str_add(p->out, " parity ");
    print(p, s->mbarrier_wait.parity, PREC_OR);
  } else {
    neo_str_add(p->out, "mbarrier_arrive ");
    print_element(p, &s->mbarrier_arrive.mbarrier);
  }
}

static void print_line(printer *p, const neo_ls *s) {
  switch (s->kind) {
  case NEO_LS_FOR:
  case NEO_LS_IF:
  case NEO_LS_SPECIALIZE:
    break;
  case NEO_LS_REG:
    print_reg(p, s);
    break;
  case NEO_LS_SET:
    print_set(p, s);
    break;
  case NEO_LS_STORE:
    print_store(p, s);
    break;
  case NEO_LS_PREFETCH:
    neo_str_add(p->out, s->prefetch.l2 ? "prefetch l2 " : "prefetch ");
    print_element(p, &s->prefetch.of);
    break;
  case NEO_LS_TILE:
    print_tile(p, s);
    break;
  case NEO_LS_SHUFFLE:
    print_shuffle(p, s);
    break;
  case NEO_LS_MMA:
    print_mma(p, s);
    break;
  case NEO_LS_LDMATRIX:
    print_ldmatrix(p, s);
    break;
  case NEO_LS_WGMMA:
    print_wgmma(p, s);
    break;
  case NEO_LS_WGMMA_WAIT:
    print_wgmma_wait(p, s);
    break;
  case NEO_LS_COPY:
    print_copy(p, s);
    break;
  case NEO_LS_COPY_COMMIT:
    neo_str_add(p->out, "copy_commit");
    break;
  case NEO_LS_COPY_WAIT:
    print_number(p, "copy_wait ", s->copy_wait.pending);
    break;
  case NEO_LS_TMA_COPY:
    print_tma_copy(p, s);
    break;
  case NEO_LS_EXPECT_TX:
  case NEO_LS_MBARRIER_WAIT:
  case NEO_LS_MBARRIER_ARRIVE:
    print_mbarrier(p, s);
    break;
  }
  print_end(p);
}

static void print_statement(printer *p, const neo_ls *s, int depth) {
  const neo_lx *own[NEO_LS_EXPRS];
  print_lets(p, own, neo_ls_exprs(s, own), depth);
  indent(p, depth);
  if (s->kind == NEO_LS_FOR)
    print_for(p, s, depth);
  else if (s->kind == NEO_LS_IF)
    print_if(p, s, depth);
  else if (s->kind == NEO_LS_SPECIALIZE)
    print_specialize(p, s, depth);
  else
    print_line(p, s);
}

static void print_block(printer *p, const neo_block *b, int depth) {
  for (size_t i = 0; i < b->n; i++)
    print_statement(p, b->at[i], depth);
}

static void print_buffer(printer *p, uint32_t i) {
  const neo_kbuf *b = &p->k->bufs.at[i];
  neo_str_addf(p->out, "%s%s: %s", i ? ", " : "", p->buf[i], neo_type_text((neo_type)b->type));
  if (b->use & NEO_BUF_READ)
    neo_str_add(p->out, " read");
  if (b->use & NEO_BUF_WRITE)
    neo_str_add(p->out, " write");
  if (b->use & NEO_BUF_SCRATCH)
    neo_str_addf(p->out, " scratch %lld", (long long)b->scratch_elems);
  if (b->no_alias)
    neo_str_add(p->out, " noalias");
  if (b->stream)
    neo_str_add(p->out, " stream");
  if (b->align)
    neo_str_addf(p->out, " align %lld", (long long)b->align);
  if (b->tensor.i)
    neo_str_addf(p->out, " tensor %u", b->tensor.i);
  if (b->shift)
    neo_str_addf(p->out, " from %lld", (long long)b->shift);
}

static void print_head(printer *p) {
  neo_str_addf(p->out, "neo-loop 2\nkernel %s(", word_of(p->arena, p->k->name));
  for (uint32_t i = 0; i < p->k->bufs.n; i++)
    print_buffer(p, i);
  neo_str_addc(p->out, ')');
  for (size_t i = 0; i < p->k->sizes.n; i++)
    neo_str_addf(p->out, "%s%s", i ? ", " : " sizes ", p->size[i]);
  neo_str_add(p->out, " units ");
  p->statement++;
  print(p, p->k->units, PREC_OR);
  if (p->k->persistent)
    neo_str_addf(p->out, " persistent %lld", (long long)p->k->persistent);
  neo_str_addc(p->out, '\n');
}

void neo_kernel_print(const neo_kernel *k, neo_str *out) {
  printer p = {.k = k, .arena = out->arena, .out = out};
  p.node = neo_arena_array(out->arena, k->nodes.n + 1, sizeof *p.node);
  name_all(&p);
  print_head(&p);
  print_block(&p, &k->body, 0);
}
