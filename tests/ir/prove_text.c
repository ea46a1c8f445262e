/* A small reader of questions: recursive descent over the text, see prove_text.h. */
#include "tests/ir/prove_text.h"
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static neo_expr disjunction(question *q);

static bool take(question *q, const char *word) {
  while (*q->at == ' ')
    q->at++;
  size_t n = strlen(word);
  if (strncmp(q->at, word, n) != 0)
    return false;
  if (isalpha((unsigned char)*word) && isalnum((unsigned char)q->at[n]))
    return false;
  q->at += n;
  return true;
}

static void need(question *q, const char *word) {
  bool found = take(q, word);
  assert(found && "a question that reads");
}

static neo_expr num(question *q, int64_t x) {
  return neo_const_int(q->m, NEO_I64_T, x);
}

static neo_expr op(question *q, neo_op o, neo_expr a, neo_expr b) {
  return neo_op2(q->m, o, a, b);
}

static int find(char names[16][8], uint32_t n, const char *name) {
  for (uint32_t k = 0; k < n; k++)
    if (strcmp(names[k], name) == 0)
      return (int)k;
  return -1;
}

static void read_name(question *q, char *name) {
  size_t n = 0;
  while (*q->at == ' ')
    q->at++;
  while (isalnum((unsigned char)*q->at) && n < 7)
    name[n++] = *q->at++;
  name[n] = 0;
  assert(n > 0);
}

static neo_expr load(question *q, neo_tensor t) {
  neo_expr index = disjunction(q), y;
  if (take(q, "|")) {
    neo_expr other = neo_cast(q->m, (neo_type)neo_tensor_at(q->m, t)->type, disjunction(q));
    y = neo_load_else(q->m, t, &index, 1, other, 0);
  } else {
    y = neo_load(q->m, t, &index, 1, 0);
  }
  need(q, "]");
  return neo_cast(q->m, NEO_I64_T, y);
}

static neo_expr name(question *q) {
  char text[8];
  read_name(q, text);
  int k = find(q->axis_name, q->n_axes, text);
  if (k >= 0)
    return neo_axis_ref(q->m, (uint32_t)k);
  k = find(q->size_name, q->n_sizes, text);
  if (k >= 0)
    return neo_size_ref(q->m, q->size[k]);
  k = find(q->tensor_name, q->n_tensors, text);
  assert(k >= 0 && "a declared name");
  need(q, "[");
  return load(q, q->tensor[k]);
}

static neo_expr call(question *q, neo_op o, int n) {
  neo_expr a[3];
  need(q, "(");
  for (int k = 0; k < n; k++) {
    if (k)
      need(q, ",");
    a[k] = disjunction(q);
  }
  need(q, ")");
  if (n == 1)
    return neo_op1(q->m, o, a[0]);
  return n == 2 ? neo_op2(q->m, o, a[0], a[1]) : neo_op3(q->m, o, a[0], a[1], a[2]);
}

static neo_expr atom(question *q) {
  while (*q->at == ' ')
    q->at++;
  if (isdigit((unsigned char)*q->at)) {
    char *end;
    long long x = strtoll(q->at, &end, 10);
    q->at = end;
    return num(q, x);
  }
  if (take(q, "-"))
    return neo_op1(q->m, NEO_OP_NEG, atom(q));
  if (take(q, "not"))
    return neo_op1(q->m, NEO_OP_NOT, atom(q));
  if (take(q, "min"))
    return call(q, NEO_OP_MIN, 2);
  if (take(q, "max"))
    return call(q, NEO_OP_MAX, 2);
  if (take(q, "abs"))
    return call(q, NEO_OP_ABS, 1);
  if (take(q, "clamp"))
    return call(q, NEO_OP_CLAMP, 3);
  if (take(q, "select"))
    return call(q, NEO_OP_SELECT, 3);
  if (!take(q, "("))
    return name(q);
  neo_expr e = disjunction(q);
  need(q, ")");
  return e;
}

static neo_expr term(question *q) {
  neo_expr e = atom(q);
  for (;;) {
    if (take(q, "*"))
      e = op(q, NEO_OP_MUL, e, atom(q));
    else if (take(q, "/"))
      e = op(q, NEO_OP_DIV, e, atom(q));
    else if (take(q, "%"))
      e = op(q, NEO_OP_MOD, e, atom(q));
    else
      return e;
  }
}

static neo_expr sum(question *q) {
  neo_expr e = term(q);
  for (;;) {
    if (take(q, "+"))
      e = op(q, NEO_OP_ADD, e, term(q));
    else if (take(q, "-"))
      e = op(q, NEO_OP_SUB, e, term(q));
    else
      return e;
  }
}

static neo_expr one_comparison(question *q, neo_expr a, neo_expr *last) {
  static const struct {
    const char *text;
    neo_op op;
    bool swap;
  } row[] = {{"<=", NEO_OP_LE, false}, {">=", NEO_OP_LE, true}, {"==", NEO_OP_EQ, false},
             {"!=", NEO_OP_NE, false}, {"<", NEO_OP_LT, false}, {">", NEO_OP_LT, true}};
  for (size_t k = 0; k < sizeof row / sizeof *row; k++)
    if (take(q, row[k].text)) {
      *last = sum(q);
      return row[k].swap ? op(q, row[k].op, *last, a) : op(q, row[k].op, a, *last);
    }
  return (neo_expr){0};
}

static neo_expr comparison(question *q) {
  neo_expr a = sum(q), b, all = one_comparison(q, a, &b), next;
  if (!all.i)
    return a;
  while (a = b, next = one_comparison(q, a, &b), next.i)
    all = op(q, NEO_OP_AND, all, next);
  return all;
}

static neo_expr conjunction(question *q) {
  neo_expr e = comparison(q);
  while (take(q, "and"))
    e = op(q, NEO_OP_AND, e, comparison(q));
  return e;
}

static neo_expr disjunction(question *q) {
  neo_expr e = conjunction(q);
  while (take(q, "or"))
    e = op(q, NEO_OP_OR, e, conjunction(q));
  return e;
}

neo_expr question_expr(question *q, const char *text) {
  q->at = text;
  neo_expr e = disjunction(q);
  while (*q->at == ' ')
    q->at++;
  assert(*q->at == 0);
  return e;
}

/* ---- declarations: [sum <=] NAME (< | <= | =) sum, separated by ; */

typedef struct {
  neo_expr lo, hi, value; /* hi exclusive for <, and hi + 1 for <= */
  char name[8];
} declaration;

static declaration declare(question *q) {
  declaration d = {.lo = num(q, 0)};
  while (*q->at == ' ')
    q->at++;
  if (isdigit((unsigned char)*q->at) || *q->at == '(' || *q->at == '-' || *q->at == 'm') {
    d.lo = sum(q);
    need(q, "<=");
  }
  read_name(q, d.name);
  if (take(q, "<="))
    d.hi = op(q, NEO_OP_ADD, sum(q), num(q, 1));
  else if (take(q, "<"))
    d.hi = sum(q);
  else if (take(q, "="))
    d.value = sum(q);
  return d;
}

static int64_t constant(question *q, neo_expr e) {
  int64_t x = 0;
  bool known = neo_expr_is_int(q->m, e, &x);
  assert(known);
  return x;
}

static void declare_size(question *q) {
  declaration d = declare(q);
  neo_size_rec rec = {.kind = NEO_SIZE_DERIVED, .hi = 1 << 20, .value = d.value};
  if (!d.value.i) {
    rec.kind = NEO_SIZE_RUNTIME;
    rec.lo = constant(q, d.lo);
    rec.hi = constant(q, d.hi) - 1;
  }
  memcpy(q->size_name[q->n_sizes], d.name, sizeof d.name);
  q->size[q->n_sizes++] = neo_size_add(q->m, rec);
}

static void declare_tensor(question *q) {
  declaration d = declare(q);
  uint32_t extent = num(q, 1 << 20).i;
  neo_type type = strstr(d.name, "64") ? NEO_I64_T : NEO_I32_T;
  neo_tensor_rec rec = {.role = NEO_ROLE_INPUT, .type = (uint8_t)type, .bound = d.hi};
  rec.extent = neo_list_new(q->m, &extent, 1);
  rec.name = neo_name_of(q->m->names, d.name);
  memcpy(q->tensor_name[q->n_tensors], d.name, sizeof d.name);
  q->tensor[q->n_tensors++] = neo_tensor_add(q->m, rec);
}

static void declare_axis(question *q) {
  declaration d = declare(q);
  memcpy(q->axis_name[q->n_axes], d.name, sizeof d.name);
  q->axis[q->n_axes++] = (neo_axis_rec){.lo = d.lo, .hi = d.hi};
}

static void each(question *q, const char *text, void (*one)(question *q)) {
  if (!text)
    return;
  q->at = text;
  do
    one(q);
  while (take(q, ";"));
  assert(*q->at == 0);
}

void question_init(question *q, neo_module *m, const char *sizes, const char *tensors,
                   const char *axes, const char *assume) {
  *q = (question){.m = m};
  each(q, sizes, declare_size);
  each(q, tensors, declare_tensor);
  each(q, axes, declare_axis);
  if (assume)
    q->assume[q->n_assume++] = question_expr(q, assume);
}

neo_facts question_facts(const question *q) {
  return (neo_facts){q->axis, q->n_axes, q->assume, q->n_assume};
}
