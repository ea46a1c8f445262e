/* Words of the text form. */
#include "ir/parse/parse.h"
#include "ir/text.h"
#include <stdlib.h>
#include <string.h>

static bool digit(char c) {
  return c >= '0' && c <= '9';
}
static bool letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool word_char(char c) {
  return letter(c) || digit(c);
}

static char look(const neo_ir_parser *p, uint32_t at) {
  return at < p->n_text ? p->text[at] : 0;
}

static uint32_t skip_blank(const neo_ir_parser *p, uint32_t i) {
  for (; i < p->n_text; i++) {
    char c = p->text[i];
    if (c == '#')
      while (i + 1 < p->n_text && p->text[i + 1] != '\n')
        i++;
    else if (c != ' ' && c != '\t' && c != '\n' && c != '\r')
      break;
  }
  return i;
}

/* A point belongs to a name when a letter or digit follows: "h.W", but not "k..n". */
static uint32_t name_end(const neo_ir_parser *p, uint32_t i) {
  for (;; i++) {
    char c = look(p, i);
    if (!word_char(c) && c != '\'' && !(c == '.' && word_char(look(p, i + 1))))
      return i;
  }
}

static uint32_t digits_end(const neo_ir_parser *p, uint32_t i) {
  while (digit(look(p, i)))
    i++;
  return i;
}

static uint32_t number_end(const neo_ir_parser *p, uint32_t i) {
  i = digits_end(p, i);
  if (look(p, i) == '.' && digit(look(p, i + 1)))
    i = digits_end(p, i + 1);
  if (look(p, i) == 'e') {
    char sign = look(p, i + 1);
    uint32_t from = i + 1 + (sign == '+' || sign == '-');
    if (digit(look(p, from)))
      i = digits_end(p, from);
  }
  while (word_char(look(p, i)))
    i++; /* the type */
  return i;
}

static uint32_t string_end(const neo_ir_parser *p, uint32_t i, token_kind *kind) {
  for (i++; i < p->n_text && p->text[i] != '\n'; i++) {
    if (p->text[i] == '"')
      return i + 1;
    if (p->text[i] == '\\' && i + 1 < p->n_text)
      i++;
  }
  *kind = T_BAD;
  return i;
}

static uint32_t punct_end(const neo_ir_parser *p, uint32_t i, token_kind *kind) {
  static const char *const two[] = {"..", "==", "!=", "<=", "->"};
  for (size_t k = 0; k < sizeof two / sizeof *two; k++)
    if (look(p, i) == two[k][0] && look(p, i + 1) == two[k][1])
      return i + 2;
  if (!look(p, i) || !strchr("()[]{}<+-*/%=,:;", p->text[i]))
    *kind = T_BAD;
  return i + 1;
}

static token_kind tag_kind(char c) {
  return c == '$' ? T_LET : c == '@' ? T_DEF : c == '?' ? T_ANON : T_END;
}

static token lex_one(const neo_ir_parser *p, uint32_t i) {
  char c = p->text[i];
  token t = {.offset = i, .first = i == 0 || p->text[i - 1] == '\n'};
  uint32_t end;
  if (letter(c)) {
    t.kind = T_NAME;
    end = name_end(p, i);
  } else if (digit(c)) {
    t.kind = T_NUMBER;
    end = number_end(p, i);
  } else if (c == '"') {
    t.kind = T_STRING;
    end = string_end(p, i, &t.kind);
  } else if (tag_kind(c) != T_END && digit(look(p, i + 1))) {
    t.kind = tag_kind(c);
    end = digits_end(p, i + 1);
  } else {
    t.kind = T_PUNCT;
    end = punct_end(p, i, &t.kind);
  }
  t.n = end - i;
  return t;
}

void neo_parse_lex(neo_ir_parser *p, uint32_t from) {
  uint32_t i = skip_blank(p, from);
  while (i < p->n_text) {
    token t = lex_one(p, i);
    NEO_PUSH(p->arena, &p->tokens, t);
    i = skip_blank(p, t.offset + t.n);
  }
  NEO_PUSH(p->arena, &p->tokens, (token){.kind = T_END, .first = true, .offset = p->n_text});
}

/* ---- reading them */

static token end_of_statement(const neo_ir_parser *p) {
  token t = p->tokens.at[p->stop > 0 ? p->stop - 1 : 0];
  if (p->stop > 0)
    t.offset += t.n;
  return (token){.kind = T_END, .offset = t.offset};
}

token neo_parse_peek(const neo_ir_parser *p, size_t lookahead) {
  if (p->failed || p->at + lookahead >= p->stop)
    return end_of_statement(p);
  return p->tokens.at[p->at + lookahead];
}

token neo_parse_next(neo_ir_parser *p) {
  token t = neo_parse_peek(p, 0);
  if (t.kind != T_END)
    p->at++;
  return t;
}

bool neo_parse_is(const neo_ir_parser *p, const char *text) {
  token t = neo_parse_peek(p, 0);
  if (t.kind != T_NAME && t.kind != T_PUNCT)
    return false;
  return t.n == strlen(text) && memcmp(p->text + t.offset, text, t.n) == 0;
}

bool neo_parse_accept(neo_ir_parser *p, const char *text) {
  if (!neo_parse_is(p, text))
    return false;
  p->at++;
  return true;
}

void neo_parse_expect(neo_ir_parser *p, const char *text) {
  if (neo_parse_accept(p, text))
    return;
  neo_parse_expected(p, neo_arena_printf(p->arena, "'%s'", text));
}

static neo_span span_of(neo_ir_parser *p, token t) {
  return neo_span_of(neo_diags_sources(p->m->diags), p->file, t.offset, t.n);
}

neo_span neo_parse_span_from(neo_ir_parser *p, size_t first) {
  token a = p->tokens.at[first], b = p->tokens.at[p->at > first ? p->at - 1 : first];
  return neo_span_of(neo_diags_sources(p->m->diags), p->file, a.offset, b.offset + b.n - a.offset);
}

const char *neo_parse_word(const neo_ir_parser *p, token t) {
  return neo_arena_strndup(p->arena, p->text + t.offset, t.n < 80 ? t.n : 80);
}

void neo_parse_fail(neo_ir_parser *p, token t, neo_diag_id id, const char *a, const char *b) {
  if (!p->failed)
    neo_diag(p->m->diags, span_of(p, t), id, a, b);
  p->failed = true;
}

void neo_parse_limit(neo_ir_parser *p, int limit, const char *what) {
  if (!p->failed)
    neo_diag(p->m->diags, span_of(p, neo_parse_peek(p, 0)), NEO_D_IR_LIMIT, limit, what);
  p->failed = true;
}

void neo_parse_expected(neo_ir_parser *p, const char *what) {
  token t = neo_parse_peek(p, 0);
  const char *found = t.kind == T_END ? "the end of the statement"
                                      : neo_arena_printf(p->arena, "'%s'", neo_parse_word(p, t));
  neo_parse_fail(p, t, NEO_D_IR_EXPECTED, what, found);
}

/* ---- names */

static int hex4(const char *s) {
  int x = 0;
  for (int k = 0; k < 4; k++) {
    const char *digits = "0123456789abcdef";
    char c = s[k] >= 'A' && s[k] <= 'F' ? (char)(s[k] + 32) : s[k];
    const char *at = c ? strchr(digits, c) : NULL;
    if (!at)
      return -1;
    x = x * 16 + (int)(at - digits);
  }
  return x;
}

static void add_code_point(neo_str *s, int c) {
  if (c < 0x80) {
    neo_str_addc(s, (char)c);
  } else if (c < 0x800) {
    neo_str_addc(s, (char)(0xc0 | c >> 6));
    neo_str_addc(s, (char)(0x80 | (c & 63)));
  } else {
    neo_str_addc(s, (char)(0xe0 | c >> 12));
    neo_str_addc(s, (char)(0x80 | (c >> 6 & 63)));
    neo_str_addc(s, (char)(0x80 | (c & 63)));
  }
}

/* Decodes the escape at s (after the backslash), of at most n bytes; returns its length, 0 if it is
 * no escape. */
static uint32_t unescape(neo_str *out, const char *s, uint32_t n) {
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  const char *at = n && *s ? strchr(from, *s) : NULL;
  if (at) {
    neo_str_addc(out, to[at - from]);
    return 1;
  }
  int code = n >= 5 && *s == 'u' ? hex4(s + 1) : -1;
  if (code <= 0)
    return 0; /* names hold no NUL */
  add_code_point(out, code);
  return 5;
}

uint32_t neo_parse_text_name(neo_ir_parser *p, token t) {
  const char *s = p->text + t.offset;
  if (t.kind == T_NAME)
    return neo_name_ofn(p->m->names, s, t.n);
  neo_str out = neo_str_in(p->arena);
  for (uint32_t k = 1; k + 1 < t.n; k++) {
    if (s[k] != '\\' && s[k]) {
      neo_str_addc(&out, s[k]);
      continue;
    }
    uint32_t used = s[k] ? unescape(&out, s + k + 1, t.n - k - 2) : 0;
    if (!used)
      neo_parse_fail(p, t, NEO_D_IR_NAME, "escape in", neo_parse_word(p, t));
    k += used;
  }
  return neo_name_of(p->m->names, neo_str_text(&out));
}

uint32_t neo_parse_label(neo_ir_parser *p, const char *what) {
  token t = neo_parse_peek(p, 0);
  if (t.kind != T_NAME && t.kind != T_STRING) {
    neo_parse_expected(p, what);
    return 0;
  }
  uint32_t name = neo_parse_text_name(p, neo_parse_next(p));
  return p->failed ? 0 : name;
}

uint32_t neo_parse_name(neo_ir_parser *p, const char *what) {
  token t = neo_parse_peek(p, 0);
  if (t.kind == T_NAME && neo_text_reserved(p->text + t.offset, t.n))
    neo_parse_expected(p, what);
  uint32_t name = neo_parse_label(p, what);
  if (name == 0)
    neo_parse_fail(p, t, NEO_D_IR_EXPECTED, what, "an empty one");
  return name;
}

uint32_t neo_parse_tag(neo_ir_parser *p, token t) {
  const char *word = neo_parse_word(p, t);
  unsigned long long x = strtoull(word + 1, NULL, 10);
  if (t.n > 12 || x >= UINT32_MAX) {
    neo_parse_fail(p, t, NEO_D_IR_NUMBER, word, "");
    return 0;
  }
  return (uint32_t)x;
}
