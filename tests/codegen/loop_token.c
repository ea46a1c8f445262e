/* Tokens of the loop IR's text. A line's end is one that knows how far in the next line stands.
 * After an error nothing is taken any more. */
#include "loop_parse.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

neo_span neo_lp_span_of(const parser *p, token t) {
  uint32_t n = t.kind == T_LINE || t.kind == T_END ? 0 : t.n;
  return neo_span_of(neo_diags_sources(p->d), p->file, t.at, n);
}

static void skip_spaces(const parser *p, uint32_t *at) {
  while (*at < p->n && p->text[*at] == ' ')
    (*at)++;
  if (*at < p->n && p->text[*at] == '#')
    while (*at < p->n && p->text[*at] != '\n')
      (*at)++;
}

/* From a line's end over empty lines to the next statement. */
static token line_end(const parser *p, uint32_t at) {
  uint32_t column = 0;
  while (at < p->n && p->text[at] == '\n') {
    uint32_t line = ++at;
    skip_spaces(p, &at);
    column = at - line;
  }
  if (at >= p->n)
    return (token){T_END, at, 0};
  return (token){T_LINE, at, column};
}

static char char_at(const parser *p, uint32_t at) {
  return at < p->n ? p->text[at] : 0;
}

static bool is_name_char(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

static uint32_t word_end(const parser *p, uint32_t at) {
  for (;; at++) {
    bool dot = char_at(p, at) == '.' && is_name_char(char_at(p, at + 1));
    if (!dot && !is_name_char(char_at(p, at)))
      return at;
  }
}

static token number(const parser *p, uint32_t at) {
  token t = {T_INT, at, 0};
  while (isdigit((unsigned char)char_at(p, at)))
    at++;
  if (char_at(p, at) == '.' && char_at(p, at + 1) != '.') {
    t.kind = T_FLOAT;
    for (at++; isdigit((unsigned char)char_at(p, at));)
      at++;
  }
  if (char_at(p, at) == 'e') {
    t.kind = T_FLOAT;
    at++;
    if (char_at(p, at) == '+' || char_at(p, at) == '-')
      at++;
    while (isdigit((unsigned char)char_at(p, at)))
      at++;
  }
  t.n = at - t.at;
  return t;
}

static token next_token(const parser *p, uint32_t at) {
  static const char *const pairs[] = {"==", "!=", "<=", ".."};
  skip_spaces(p, &at);
  char c = char_at(p, at);
  if (at >= p->n)
    return (token){T_END, at, 0};
  if (c == '\n')
    return line_end(p, at);
  if (isdigit((unsigned char)c))
    return number(p, at);
  if (is_name_char(c))
    return (token){T_WORD, at, word_end(p, at) - at};
  for (int i = 0; i < 4; i++)
    if (c == pairs[i][0] && char_at(p, at + 1) == pairs[i][1])
      return (token){T_PUNCT, at, 2};
  return (token){strchr("()[],:+-*/%<=@", c) && c ? T_PUNCT : T_BAD, at, 1};
}

void neo_lp_advance(parser *p) {
  if (p->t.kind == T_LINE)
    p->t.n = 0;
  p->t = next_token(p, p->t.at + p->t.n);
}

static const char *token_text(const parser *p) {
  switch (p->t.kind) {
  case T_END:
    return "the end";
  case T_LINE:
    return "a new line";
  default:
    return neo_arena_printf(p->a, "'%s'", neo_arena_strndup(p->a, p->text + p->t.at, p->t.n));
  }
}

void neo_lp_expected(parser *p, const char *what) {
  if (!p->failed)
    neo_diag(p->d, neo_lp_span_of(p, p->t), NEO_D_IR_EXPECTED, what, token_text(p));
  p->failed = true;
}

void neo_lp_bad_type(parser *p, token at, const char *what) {
  if (!p->failed) {
    const char *text = neo_arena_strndup(p->a, p->text + at.at, at.n);
    neo_diag(p->d, neo_lp_span_of(p, at), NEO_D_IR_TYPE, text, what);
  }
  p->failed = true;
}

bool neo_lp_is(const parser *p, const char *text) {
  size_t n = strlen(text);
  bool plain = p->t.kind == T_WORD || p->t.kind == T_PUNCT || p->t.kind == T_INT;
  return plain && p->t.n == n && memcmp(p->text + p->t.at, text, n) == 0;
}

bool neo_lp_accept(parser *p, const char *text) {
  if (p->failed || !neo_lp_is(p, text))
    return false;
  neo_lp_advance(p);
  return true;
}

void neo_lp_need(parser *p, const char *text) {
  if (!neo_lp_accept(p, text))
    neo_lp_expected(p, neo_arena_printf(p->a, "'%s'", text));
}

const char *neo_lp_take_word(parser *p, const char *what) {
  if (p->failed || p->t.kind != T_WORD) {
    neo_lp_expected(p, what);
    return "";
  }
  const char *s = neo_arena_strndup(p->a, p->text + p->t.at, p->t.n);
  neo_lp_advance(p);
  return s;
}

/* The low 64 bits count: -9223372036854775808 is read as minus 9223372036854775808. */
int64_t neo_lp_take_int(parser *p) {
  if (p->failed || p->t.kind != T_INT) {
    neo_lp_expected(p, "an integer");
    return 0;
  }
  const char *s = neo_arena_strndup(p->a, p->text + p->t.at, p->t.n);
  errno = 0;
  unsigned long long x = strtoull(s, NULL, 10);
  if (errno || x > (unsigned long long)INT64_MAX + 1) {
    neo_diag(p->d, neo_lp_span_of(p, p->t), NEO_D_IR_NUMBER, s);
    p->failed = true;
  }
  neo_lp_advance(p);
  return (int64_t)x;
}

int64_t neo_lp_take_small(parser *p, int64_t most) {
  token at = p->t;
  int64_t x = neo_lp_take_int(p);
  if (x < 0 || x > most)
    neo_lp_bad_type(p, at, "out of range");
  return p->failed ? 0 : x;
}

neo_type neo_lp_take_type(parser *p) {
  neo_type t = NEO_F32_T;
  token at = p->t;
  const char *s = neo_lp_take_word(p, "a type");
  if (!p->failed && !neo_type_of_text(s, &t)) {
    p->t = at;
    neo_lp_expected(p, "a type");
  }
  return t;
}
