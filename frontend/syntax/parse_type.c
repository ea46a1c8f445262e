/* Types: those of the language by their names, and in a function the type variables of its
 * signature.
 *
 * In a signature a name that is no type declares a variable, which the name means from there to the
 * end of the function. A name that is probably a misspelt type declares none: a name of another
 * language (`double`), a name spelt like our types (`f23`, `u32`), and a name that occurs once and
 * is one letter away from a type (`bol`). */
#include "frontend/syntax/parse_rec.h"

#include <string.h>

static const struct {
  const char *text;
  neo_type type;
} type_names[] = {
#define X(name, text, size, kind) {text, NEO_##name##_T},
#include "ir/types.def"
#undef X
};

enum { N_TYPES = sizeof type_names / sizeof *type_names };

bool neo_p_is_type(const neo_parser *p, size_t at) {
  const neo_token *t = &p->tokens.at[at];
  for (size_t i = 0; t->kind == NEO_TOK_NAME && i < N_TYPES; i++)
    if (strcmp(type_names[i].text, t->text) == 0)
      return true;
  return false;
}

/* ---- names that are no types ----------------------------------------------------------------- */

/* Names of types in other languages, each with the name here, or with a nearby type if there is
 * none. */
static const char *const foreign_types[][2] = {
    {"float", "f32"},     {"double", "f64"},   {"half", "f16"}, {"float64", "f64"},
    {"float32", "f32"},   {"float16", "f16"},  {"int", "i32"},  {"long", "i64"},
    {"int64", "i64"},     {"int32", "i32"},    {"int8", "i8"},  {"uint8", "u8"},
    {"bfloat16", "bf16"}, {"boolean", "bool"}, {"char", "i8"},  {"byte", "u8"},
    {"short", "i32"},     {"int16", "i32"},    {"i16", "i32"},  {"u16", "i32"},
    {"uint16", "i32"},    {"uint32", "i64"},   {"u32", "i64"},  {"uint64", "i64"},
    {"u64", "i64"},       {"fp16", "f16"},     {"fp32", "f32"}, {"fp64", "f64"},
};

static const char *of_other_language(const char *name) {
  for (size_t i = 0; i < sizeof foreign_types / sizeof *foreign_types; i++)
    if (strcmp(foreign_types[i][0], name) == 0)
      return foreign_types[i][1];
  return NULL;
}

/* A few letters that begin a type's name, and digits: f23, i128. */
static bool is_spelt_as_type(const char *name) {
  static const char *const stems[] = {"f", "bf", "fp", "i", "u", "int", "uint", "float"};
  for (size_t i = 0; i < sizeof stems / sizeof *stems; i++) {
    size_t n = strlen(stems[i]);
    if (strncmp(name, stems[i], n) == 0 && name[n] && !name[n + strspn(name + n, "0123456789")])
      return true;
  }
  return false;
}

/* Whether the names have the same characters in another order, as f23 and f32. */
static bool is_permuted(const char *a, const char *b) {
  int count[256] = {0};
  for (const char *c = a; *c; c++)
    count[(unsigned char)*c]++;
  for (const char *c = b; *c; c++)
    count[(unsigned char)*c]--;
  for (size_t i = 0; i < 256; i++)
    if (count[i])
      return false;
  return true;
}

/* A type that is a letter away; NULL: none. */
static const char *type_near(const char *name) {
  const char *near = NULL;
  for (size_t i = 0; i < N_TYPES; i++) {
    if (is_permuted(name, type_names[i].text))
      return type_names[i].text;
    if (!near && neo_str_distance(name, type_names[i].text, 1) == 1)
      near = type_names[i].text;
  }
  return near;
}

/* The type that a name is for; NULL: unknown. */
static const char *type_meant(const char *name) {
  const char *foreign = of_other_language(name);
  return foreign ? foreign : type_near(name);
}

static const char all_types[] = "a type: f64 f32 f16 bf16 i64 i32 i8 u8 bool";

static void unknown_type(neo_parser *p) {
  const neo_token *t = neo_p_peek(p, 0);
  int h = neo_p_expected(p, all_types);
  const char *meant = t->kind == NEO_TOK_NAME ? type_meant(t->text) : NULL;
  if (meant)
    neo_diag_help(p->diags, h, "did you mean '%s'?", meant);
  else if (t->kind == NEO_TOK_NAME)
    neo_diag_help(p->diags, h,
                  "a type variable is named in the signature of its function: fn f(x[N] : %s)",
                  t->text);
}

/* ---- variables ------------------------------------------------------------------------------- */

static bool is_variable(const neo_parser *p, const char *name) {
  for (size_t i = 0; i < p->type_variables.n; i++)
    if (p->type_variables.at[i].text == name)
      return true;
  return false;
}

static bool stands_once(const neo_parser *p, const char *name) {
  uint32_t n = 0;
  for (size_t at = p->first_token; at < p->at; at++)
    n += p->tokens.at[at].kind == NEO_TOK_NAME && p->tokens.at[at].text == name;
  return n < 2;
}

void neo_p_close_types(neo_parser *p) {
  for (size_t i = 0; i < p->type_variables.n; i++) {
    const neo_ast_name *v = &p->type_variables.at[i];
    const char *near = type_near(v->text);
    if (p->panic || !near || !stands_once(p, v->text))
      continue;
    int h = NEO_P_COMPLAIN(p, v->span, NEO_D_EXPECTED, all_types,
                           neo_arena_printf(p->arena, "'%s'", v->text));
    neo_diag_help(p->diags, h, "did you mean '%s'?", near);
  }
  p->type_variables.n = 0;
  p->in_signature = false;
}

/* The name of a variable at the current token; a new one in a signature. */
static bool accept_variable(neo_parser *p, neo_ast_name *name) {
  const neo_token *t = neo_p_peek(p, 0);
  if (p->panic || t->kind != NEO_TOK_NAME || neo_p_is_type(p, p->at))
    return false;
  bool known = is_variable(p, t->text);
  if (!known && (!p->in_signature || of_other_language(t->text) || is_spelt_as_type(t->text)))
    return false;
  *name = (neo_ast_name){t->text, neo_p_token_span(p, t)};
  neo_p_take(p);
  if (!known)
    NEO_PUSH(p->arena, &p->type_variables, *name);
  return true;
}

/* ---- a type ---------------------------------------------------------------------------------- */

/* TYPE | NAME | "wide" "(" NAME ")" */
void neo_p_type_name(neo_parser *p, neo_ast_type *t) {
  for (size_t i = 0; i < N_TYPES && !t->given; i++)
    if (neo_p_accept_word(p, type_names[i].text)) {
      t->given = true;
      t->type = type_names[i].type;
    }
  if (t->given)
    return;
  t->wide = neo_p_at_word(p, "wide") && neo_p_peek_kind(p, 1) == NEO_TOK_LPAREN;
  if (t->wide) {
    neo_p_take(p);
    neo_p_take(p);
  }
  t->given = accept_variable(p, &t->variable);
  if (!t->given && t->wide && neo_p_is_type(p, p->at))
    neo_p_expected(p, "a type variable");
  else if (!t->given)
    unknown_type(p);
  else if (t->wide)
    neo_p_expect(p, NEO_TOK_RPAREN);
}
