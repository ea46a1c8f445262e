/* Expressions and names as text. */
#include "ir/interp/interp.h"
#include "ir/print.h"
#include "ir/text.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names */

static const char *const words[] = {"true",     "false", "inf",  "nan",  "rand", "step",
                                    "training", "and",   "or",   "not",  "else", "let",
                                    "where",    "then",  "of",   "at",   "from", "updates",
                                    "seed",     "for",   "into", "done", "with"};

/* `stem` alone, or followed by _ and a type. */
static bool typed_word(const char *word, const char *stem) {
  size_t n = strlen(stem);
  neo_type t;
  return strncmp(word, stem, n) == 0 && word[n] == '_' && neo_type_of_text(word + n + 1, &t);
}

static bool acc_word(const char *word) {
  return strncmp(word, "acc", 3) == 0 && word[3] >= '0' && word[3] <= '9' && !word[4];
}

bool neo_text_reserved(const char *word, size_t n) {
  char copy[16];
  neo_reducer r;
  if (n >= sizeof copy)
    return false;
  memcpy(copy, word, n);
  copy[n] = 0;
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (neo_streq(copy, words[k]))
      return true;
  return neo_reducer_of_text(copy, &r) || acc_word(copy) || typed_word(copy, "inf") ||
         typed_word(copy, "nan") || typed_word(copy, "rand");
}

static bool word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool is_word(const char *name) {
  size_t n = strlen(name);
  if (n == 0 || !word_char(name[0]) || (name[0] >= '0' && name[0] <= '9'))
    return false;
  for (size_t k = 0; k < n; k++) {
    bool dot = name[k] == '.' && word_char(name[k + 1]);
    if (!word_char(name[k]) && name[k] != '\'' && !dot)
      return false;
  }
  return true;
}

void neo_text_add_label(neo_str *out, const char *name) {
  if (is_word(name))
    neo_str_add(out, name);
  else
    neo_str_add_json(out, name);
}

void neo_text_add_name(neo_str *out, const char *name) {
  if (neo_text_reserved(name, strlen(name)))
    neo_str_add_json(out, name);
  else
    neo_text_add_label(out, name);
}

static void add_named(const neo_module *m, neo_str *out, uint32_t name, uint32_t id) {
  if (name)
    neo_text_add_name(out, neo_name_text(m->names, name));
  else
    neo_str_addf(out, "?%u", id);
}

void neo_text_add_tensor(const neo_module *m, neo_str *out, neo_tensor t) {
  add_named(m, out, neo_tensor_at(m, t)->name, t.i);
}

void neo_text_add_size(const neo_module *m, neo_str *out, neo_size s) {
  add_named(m, out, neo_size_at(m, s)->name, s.i);
}

static bool axis_name_taken(const neo_module *m, const char *const *used, uint32_t n,
                            const char *name) {
  for (uint32_t k = 0; k < n; k++)
    if (neo_streq(used[k], name))
      return true;
  for (uint32_t k = 1; k < m->sizes.n; k++)
    if (neo_streq(neo_name_text(m->names, m->sizes.at[k].name), name))
      return true;
  return false;
}

const char *const *neo_text_axes(const neo_module *m, const neo_def_rec *d, neo_arena *a) {
  const char **names = NEO_NEW_ARRAY(a, const char *, d->axes.n + 1);
  for (uint32_t k = 0; k < d->axes.n; k++) {
    const char *name = neo_name_text(m->names, neo_def_axis(m, d, k)->name);
    if (!*name)
      name = neo_arena_printf(a, "_%u", k);
    while (axis_name_taken(m, names, k, name))
      name = neo_arena_printf(a, "%s_%u", name, k);
    names[k] = name;
  }
  return names;
}

/* ---- numbers */

static void add_float(neo_str *out, neo_type t, double x) {
  char text[48];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (neo_value_round(t, strtod(text, NULL)) == x)
      break;
  }
  neo_str_add(out, text);
  if (!strpbrk(text, ".e"))
    neo_str_add(out, ".0");
}

void neo_text_add_number(neo_str *out, neo_type t, double f, int64_t i) {
  if (t == NEO_BOOL_T)
    neo_str_add(out, i ? "true" : "false");
  else if (!neo_type_is_float(t))
    neo_str_addf(out, "%lld", (long long)i);
  else if (isnan(f))
    neo_str_add(out, "nan");
  else if (isinf(f))
    neo_str_add(out, f < 0 ? "-inf" : "inf");
  else
    add_float(out, t, f);
}

static void add_constant(const neo_text_expr *t, neo_expr e) {
  neo_type type = neo_expr_type(t->m, e);
  double f = 0;
  int64_t i = 0;
  bool is_float = neo_expr_is_float(t->m, e, &f);
  (void)neo_expr_is_int(t->m, e, &i);
  neo_text_add_number(t->out, type, f, i);
  if (type == NEO_F32_T || type == NEO_I64_T || type == NEO_BOOL_T)
    return;
  if (is_float && !isfinite(f))
    neo_str_addc(t->out, '_');
  neo_str_add(t->out, neo_type_text(type));
}

/* ---- expressions */

static void add_args(const neo_text_expr *t, neo_list l, uint32_t from, uint32_t to) {
  for (uint32_t k = from; k < to; k++) {
    if (k > from)
      neo_str_add(t->out, ", ");
    neo_text_add_expr(t, neo_list_expr(t->m, l, k), LEVEL_OR);
  }
}

static void add_call(const neo_text_expr *t, const char *name, neo_list arg) {
  neo_str_add(t->out, name);
  neo_str_addc(t->out, '(');
  add_args(t, arg, 0, arg.n);
  neo_str_addc(t->out, ')');
}

static void add_load(const neo_text_expr *t, const neo_node *n, uint32_t rank) {
  neo_text_add_tensor(t->m, t->out, (neo_tensor){n->attr});
  neo_str_addc(t->out, '[');
  add_args(t, n->arg, 0, rank);
  neo_str_addc(t->out, ']');
}

static void add_load_else(const neo_text_expr *t, const neo_node *n) {
  neo_str_addc(t->out, '(');
  add_load(t, n, n->arg.n - 1);
  neo_str_add(t->out, " else ");
  add_args(t, n->arg, n->arg.n - 1, n->arg.n);
  neo_str_addc(t->out, ')');
}

static void add_rand(const neo_text_expr *t, const neo_node *n) {
  neo_str_add(t->out, "rand");
  if (n->type != NEO_F32_T)
    neo_str_addf(t->out, "_%s", neo_type_text((neo_type)n->type));
  neo_str_addf(t->out, "(%u, ", n->attr);
  add_args(t, n->arg, 0, n->arg.n);
  neo_str_addc(t->out, ')');
}

static int infix_level(neo_op op) {
  switch (op) {
  case NEO_OP_OR:
    return LEVEL_OR;
  case NEO_OP_AND:
    return LEVEL_AND;
  case NEO_OP_EQ:
  case NEO_OP_NE:
  case NEO_OP_LT:
  case NEO_OP_LE:
    return LEVEL_CMP;
  case NEO_OP_ADD:
  case NEO_OP_SUB:
    return LEVEL_SUM;
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_MOD:
    return LEVEL_MUL;
  default:
    return 0;
  }
}

/* Operators group to the left; a comparison takes none of its kind on either side. */
static void add_infix(const neo_text_expr *t, const neo_node *n, int own, int level) {
  neo_expr x = neo_list_expr(t->m, n->arg, 0), y = neo_list_expr(t->m, n->arg, 1);
  if (own < level)
    neo_str_addc(t->out, '(');
  neo_text_add_expr(t, x, own == LEVEL_CMP ? own + 1 : own);
  neo_str_addf(t->out, " %s ", neo_op_text((neo_op)n->op));
  neo_text_add_expr(t, y, own + 1);
  if (own < level)
    neo_str_addc(t->out, ')');
}

static void add_prefix(const neo_text_expr *t, const char *text, neo_expr x, int own, int level) {
  if (own < level)
    neo_str_addc(t->out, '(');
  neo_str_add(t->out, text);
  neo_text_add_expr(t, x, LEVEL_ATOM);
  if (own < level)
    neo_str_addc(t->out, ')');
}

static void add_axis(const neo_text_expr *t, uint32_t k) {
  if (k < t->n_axes)
    neo_text_add_name(t->out, t->axis[k]);
  else
    neo_str_addf(t->out, "axis%u", k);
}

static bool is_negative(const neo_module *m, neo_expr e) {
  double f = 0;
  int64_t i = 0;
  return neo_expr_is_float(m, e, &f) ? signbit(f) && !isnan(f) : neo_expr_is_int(m, e, &i) && i < 0;
}

static void add_negative(const neo_text_expr *t, neo_expr e, int level) {
  if (level > LEVEL_UNARY)
    neo_str_addc(t->out, '(');
  add_constant(t, e);
  if (level > LEVEL_UNARY)
    neo_str_addc(t->out, ')');
}

static void add_node(const neo_text_expr *t, neo_expr e, int level) {
  const neo_node *n = neo_expr_node(t->m, e);
  neo_op op = (neo_op)n->op;
  if (is_negative(t->m, e)) {
    add_negative(t, e, level);
    return;
  }
  switch (op) {
  case NEO_OP_CONST:
    add_constant(t, e);
    return;
  case NEO_OP_AXIS:
    add_axis(t, n->attr);
    return;
  case NEO_OP_SIZE:
    neo_text_add_size(t->m, t->out, (neo_size){n->attr});
    return;
  case NEO_OP_ACC:
    neo_str_addf(t->out, "acc%u", n->attr);
    return;
  case NEO_OP_TRAINING:
  case NEO_OP_STEP:
    neo_str_add(t->out, neo_op_text(op));
    return;
  case NEO_OP_RAND:
    add_rand(t, n);
    return;
  case NEO_OP_LOAD:
    add_load(t, n, n->arg.n);
    return;
  case NEO_OP_LOAD_ELSE:
    add_load_else(t, n);
    return;
  case NEO_OP_NOT:
    add_prefix(t, "not ", neo_expr_arg(t->m, e, 0), LEVEL_NOT, level);
    return;
  case NEO_OP_NEG:
    add_prefix(t, "-", neo_expr_arg(t->m, e, 0), LEVEL_UNARY, level);
    return;
  case NEO_OP_CAST:
    add_call(t, neo_type_text((neo_type)n->type), n->arg);
    return;
  default:
    break;
  }
  if (infix_level(op))
    add_infix(t, n, infix_level(op), level);
  else
    add_call(t, neo_op_text(op), n->arg);
}

void neo_text_add_expr(const neo_text_expr *t, neo_expr e, int level) {
  uint32_t let = t->let_of ? t->let_of(t->ctx, e) : 0;
  if (t->limit && t->out->n > t->limit)
    neo_str_add(t->out, "...");
  else if (let)
    neo_str_addf(t->out, "$%u", let - 1);
  else if (e.i == 0)
    neo_str_addc(t->out, '-');
  else
    add_node(t, e, level);
}

void neo_expr_print(const neo_module *m, const neo_def_rec *d, neo_expr e, neo_str *out) {
  neo_arena scratch = neo_arena_scratch(m->arena);
  neo_text_expr t = {.m = m, .out = out, .limit = out->n + 4000};
  if (d) {
    t.axis = neo_text_axes(m, d, &scratch);
    t.n_axes = d->axes.n;
  }
  neo_text_add_expr(&t, e, LEVEL_OR);
  neo_arena_free(&scratch);
}
