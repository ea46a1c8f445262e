/* The parts of a library's header that describe tensors: identifiers, types and shapes. */
#include "codegen/plan/internal.h"
#include <ctype.h>
#include <string.h>

char *neo_plan_capitals(neo_arena *a, const char *s) {
  char *up = neo_plan_ident(a, s);
  for (char *c = up; *c; c++)
    *c = (char)toupper((unsigned char)*c);
  return up;
}

static bool among(const char *const *used, size_t n, const char *id) {
  for (size_t k = 0; k < n; k++)
    if (neo_streq(used[k], id))
      return true;
  return false;
}

const char *neo_plan_distinct(const neo_plan *p, const char *name, const char *const *used,
                              size_t n) {
  const char *base = neo_plan_ident(p->arena, name), *id = base;
  for (int k = 2; among(used, n, id); k++)
    id = neo_arena_printf(p->arena, "%s_%d", base, k);
  return id;
}

const char **neo_plan_idents(const neo_plan *p, const char *const *names, size_t n) {
  const char **id = NEO_NEW_ARRAY(p->arena, const char *, n + 1);
  for (size_t k = 0; k < n; k++)
    id[k] = neo_plan_distinct(p, names[k], id, k);
  return id;
}

static const char *size_ident(const neo_plan *p, size_t k) {
  return p->size_idents.n ? p->size_idents.at[k] : p->sizes.at[k].name;
}

/* A size program as text: constants and names of run-time sizes with operators. */
static void put_program(const neo_plan *p, int32_t at, neo_str *out) {
  static const char *const sign[] = {
      [NEO_RT_OP_ADD] = " + ",  [NEO_RT_OP_SUB] = " - ", [NEO_RT_OP_MUL] = "*",
      [NEO_RT_OP_DIV] = "/",    [NEO_RT_OP_MOD] = "%",   [NEO_RT_OP_MIN] = " min ",
      [NEO_RT_OP_MAX] = " max "};
  enum { DEPTH = 64 };
  const char *stack[DEPTH];
  size_t n = 0;
  for (const int64_t *c = &p->programs.at[at]; *c != NEO_RT_OP_END && n < DEPTH - 1; c++) {
    if (*c == NEO_RT_OP_CONST) {
      stack[n++] = neo_arena_printf(p->arena, "%lld", (long long)*++c);
    } else if (*c == NEO_RT_OP_SIZE) {
      stack[n++] = neo_plan_ident(p->arena, size_ident(p, (size_t) * ++c));
    } else {
      const char *b = stack[--n], *a = stack[--n];
      stack[n++] = neo_arena_printf(p->arena, "(%s%s%s)", a, sign[*c], b);
    }
  }
  const char *text = n ? stack[0] : "0";
  size_t length = strlen(text);
  if (text[0] == '(') /* the outermost pair says nothing */
    neo_str_addn(out, text + 1, length - 2);
  else
    neo_str_add(out, text);
}

/* An end of elements over their indices d0, d1 …; nothing where there is none. */
static void put_end(const neo_plan *p, const neo_rt_tensor *t, int which, neo_str *out) {
  const int32_t *row = p->extents.at + t->ends - 1, *adds = row + 2 + which * t->rank;
  if (row[which] < 0)
    return;
  const int64_t *code = p->programs.at + row[which];
  bool zero = code[0] == NEO_RT_OP_CONST && !code[1] && code[2] == NEO_RT_OP_END, any = false;
  for (int d = 0; d < t->rank; d++) {
    int64_t by = p->programs.at[adds[d] + 1]; /* after CONST */
    if (!by)
      continue;
    neo_str_add(out, any ? " + " : "");
    if (by != 1)
      neo_str_addf(out, "%lld*", (long long)by);
    neo_str_addf(out, "d%d", d);
    any = true;
  }
  if (any && !zero)
    neo_str_add(out, " + ");
  if (!any || !zero)
    put_program(p, row[which], out);
}

void neo_plan_put_shape(const neo_plan *p, const neo_rt_tensor *t, neo_str *out) {
  static const char *const names[] = {"f64", "f32", "f16", "bf16", "i64",
                                      "i32", "i8",  "u8",  "bool"};
  neo_str_addf(out, "%s", names[t->type]);
  if (t->rank)
    neo_str_add(out, " [");
  for (int k = 0; k < t->rank; k++) {
    if (k)
      neo_str_add(out, ", ");
    put_program(p, p->extents.at[t->extent + k], out);
  }
  if (t->rank)
    neo_str_add(out, "]");
  if (t->ends) {
    neo_str_add(out, " in [");
    put_end(p, t, 0, out);
    neo_str_add(out, ", ");
    put_end(p, t, 1, out);
    neo_str_add(out, ")");
  } else if (t->bound >= 0) {
    neo_str_add(out, " in [0, ");
    put_program(p, t->bound, out);
    neo_str_add(out, ")");
  }
}
