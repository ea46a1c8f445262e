/* The scanner: characters to words. Each byte is visited a bounded number of times.
 *
 * Text that cannot be a word is reported once and becomes an ERROR token, about which the parser
 * reports nothing. Spellings from other languages (`**`, `&&`, `:=` …) are reported with the right
 * one, and read as that. */
#include "frontend/syntax/lexer.h"
#include "frontend/syntax/foreign.h"

#include "base/utf8.h"

#include <string.h>

/* Spellings of other languages; the parser sees `reads_as`. */
typedef struct {
  const char *text;
  neo_tok reads_as;
  const char *help;
} foreign;

static const foreign foreign_signs[] = {
    {"...", NEO_TOK_PACK, "any number of indices is written '..'"},
    {"**", NEO_TOK_POW, "a power is written '^'"},
    {"&&", NEO_TOK_AND, "write 'and'"},
    {"||", NEO_TOK_OR, "write 'or'"},
    {"===", NEO_TOK_EQ, "equality is written '=='"},
    {"<>", NEO_TOK_NE, "inequality is written '!='"},
    {"=>", NEO_TOK_GE, "'greater or equal' is written '>='"},
    {"=<", NEO_TOK_LE, "'less or equal' is written '<='"},
    {":=", NEO_TOK_ASSIGN, "a definition is written with '='"},
    {"::", NEO_TOK_DOT, "the parts of a name are joined by '.'"},
    {"//", NEO_TOK_ERROR, "a comment begins with '#'; '/' on integers is floor division"},
    {"/*", NEO_TOK_ERROR, "a comment begins with '#' and goes to the end of its line"},
    {"!", NEO_TOK_NOT, "write 'not'"},
    {"&", NEO_TOK_AND, "write 'and'"},
    {"|", NEO_TOK_OR, "write 'or'"},
    {"@", NEO_TOK_ERROR, "a matrix product is written 'C[i, j] = sum[k] A[i, k] * B[k, j]'"},
    {"?", NEO_TOK_ERROR, "a choice is written 'select(condition, a, b)'"},
    {"\\", NEO_TOK_ERROR, "a line goes on inside brackets and after an operator, a comma or '='"},
    {"\xc3\x97", NEO_TOK_MUL, "a product is written '*'"},
    {"\xc2\xb7", NEO_TOK_MUL, "a product is written '*'"},
    {"\xe2\x8b\x85", NEO_TOK_MUL, "a product is written '*'"},
    {"\xc3\xb7", NEO_TOK_DIV, "a quotient is written '/'"},
    {"\xe2\x88\x92", NEO_TOK_SUB, "this is not the minus of the keyboard, '-'"},
    {"\xe2\x80\x93", NEO_TOK_SUB, "this is not the minus of the keyboard, '-'"},
    {"\xe2\x89\xa4", NEO_TOK_LE, "write '<='"},
    {"\xe2\x89\xa5", NEO_TOK_GE, "write '>='"},
    {"\xe2\x89\xa0", NEO_TOK_NE, "write '!='"},
    {"\xe2\x86\x92", NEO_TOK_ARROW, "write '->'"},
    {"\xe2\x80\xa6", NEO_TOK_PACK, "any number of indices is written '..'"},
    {"\xce\xa3", NEO_TOK_ERROR, "a sum is written 'sum[k] a[k]'"},
    {"\xe2\x88\x91", NEO_TOK_ERROR, "a sum is written 'sum[k] a[k]'"},
    {"\xe2\x88\x8f", NEO_TOK_ERROR, "a product over an index is written 'prod[k] a[k]'"},
    {"\xcf\x80", NEO_TOK_ERROR, "write 'pi'"},
    {"\xe2\x88\x9e", NEO_TOK_ERROR, "write 'inf'"},
};

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
static bool is_word(char c) {
  return is_letter(c) || is_digit(c);
}

/* The character `ahead` bytes on; NUL beyond the end. */
static char peek(const neo_lexer *l, uint32_t at, uint32_t ahead) {
  return (size_t)at + ahead < l->size_bytes ? l->text[at + ahead] : '\0';
}

static bool starts_with(const neo_lexer *l, uint32_t at, const char *sign) {
  if (l->text[at] != sign[0])
    return false;
  size_t n = strlen(sign);
  return l->size_bytes - at >= n && memcmp(l->text + at, sign, n) == 0;
}

/* ---- one kind of word each; all return the offset after it
 * ------------------------------------- */

static uint32_t push(neo_lexer *l, neo_tok kind, uint32_t at, uint32_t length) {
  neo_token t = {.kind = (uint8_t)kind, .offset = at, .length = length};
  if (kind == NEO_TOK_NAME || kind == NEO_TOK_NUMBER)
    t.text = neo_name_text(l->names, neo_name_ofn(l->names, l->text + at, length));
  NEO_PUSH(l->arena, &l->tokens, t);
  return at + length;
}

static const char *cut(neo_lexer *l, uint32_t at, uint32_t length) {
  return neo_arena_strndup(l->arena, l->text + at, length < 40 ? length : 40);
}

static int report(neo_lexer *l, uint32_t at, uint32_t length, neo_diag_id id) {
  if (!neo_lex_fail(l))
    return -1;
  return neo_diag(l->diags, neo_lex_span(l, at, length), id, cut(l, at, length));
}

static neo_tok word_kind(const neo_lexer *l, uint32_t at, uint32_t length) {
  static const neo_tok reserved[] = {NEO_TOK_AND,    NEO_TOK_OR,    NEO_TOK_NOT,   NEO_TOK_TRUE,
                                     NEO_TOK_FALSE,  NEO_TOK_ELSE,  NEO_TOK_WHERE, NEO_TOK_SCAN,
                                     NEO_TOK_REPEAT, NEO_TOK_WHILE, NEO_TOK_CASE};
  const char *p = l->text + at;
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; i++) {
    const char *text = neo_tok_text(reserved[i]);
    if (strlen(text) == length && memcmp(text, p, length) == 0)
      return reserved[i];
  }
  bool number = (length == 3 && (memcmp(p, "inf", 3) == 0 || memcmp(p, "nan", 3) == 0)) ||
                (length == 2 && memcmp(p, "pi", 2) == 0);
  return number ? NEO_TOK_NUMBER : NEO_TOK_NAME;
}

static uint32_t scan_word(neo_lexer *l, uint32_t at) {
  uint32_t n = 1;
  while (is_word(peek(l, at, n)))
    n++;
  return push(l, word_kind(l, at, n), at, n);
}

static uint32_t digits(const neo_lexer *l, uint32_t at, uint32_t n) {
  while (is_digit(peek(l, at, n)))
    n++;
  return n;
}

/* DIGITS [. DIGITS] [e [+-] DIGITS]; anything else that sticks to it makes it malformed. */
static uint32_t scan_number(neo_lexer *l, uint32_t at) {
  uint32_t n = digits(l, at, 0);
  bool good = n > 0, dot = peek(l, at, n) == '.' && peek(l, at, n + 1) != '.';
  if (dot) {
    uint32_t fraction = digits(l, at, n + 1);
    good = good && fraction > n + 1;
    n = fraction;
  }
  char e = peek(l, at, n);
  if (e == 'e' || e == 'E') {
    char sign = peek(l, at, n + 1);
    uint32_t first = n + 1 + (sign == '+' || sign == '-'), last = digits(l, at, first);
    if (last > first)
      n = last;
  }
  uint32_t whole = n;
  while (is_word(peek(l, at, n)))
    n++;
  if (good && n == whole)
    return push(l, NEO_TOK_NUMBER, at, n);
  int h = report(l, at, n, NEO_D_BAD_NUMBER);
  if (n > whole && good)
    neo_diag_help(l->diags, h, "a product needs its '*', and a name cannot begin with a digit");
  else
    neo_diag_help(l->diags, h, "digits stand on both sides of the point: 1.0, 0.5");
  return push(l, NEO_TOK_ERROR, at, n);
}

/* Control characters, in comments too: text with them is no text for other tools. */
static void report_control(neo_lexer *l, uint32_t at) {
  unsigned code = (unsigned char)l->text[at];
  if (neo_lex_fail(l))
    neo_diag(l->diags, neo_lex_span(l, at, 1), NEO_D_BAD_CHAR,
             neo_arena_printf(l->arena, "U+%04X", code));
}

static bool is_control(char c) {
  return ((unsigned char)c < 0x20 && !strchr("\t\r\n", c)) || c == '\0' || c == 0x7f;
}

static uint32_t scan_comment(neo_lexer *l, uint32_t at) {
  uint32_t end = at;
  for (; end < l->size_bytes && l->text[end] != '\n'; end++)
    if (is_control(l->text[end]))
      report_control(l, end);
  uint32_t n = end - at;
  while (n > 1 && strchr("\r \t", l->text[at + n - 1]))
    n--;
  NEO_PUSH(l->arena, &l->comments, (neo_ast_comment){.offset = at, .length = n});
  return end;
}

/* Whether the last tokens are the name and "(". */
static bool after_call_of(const neo_lexer *l, const char *name) {
  const neo_token *t = l->tokens.n >= 2 ? &l->tokens.at[l->tokens.n - 2] : NULL;
  return t && t[1].kind == NEO_TOK_LPAREN && t->kind == NEO_TOK_NAME && strcmp(t->text, name) == 0;
}

/* Reports a string, since the language has none, and skips it to its end, so that its content is
 * not reported as well. */
static uint32_t scan_string(neo_lexer *l, uint32_t at) {
  char quote = l->text[at];
  uint32_t n = 1;
  while (at + n < l->size_bytes && l->text[at + n] != quote && l->text[at + n] != '\n')
    n++;
  n += peek(l, at, n) == quote;
  int h = report(l, at, n, NEO_D_NO_STRINGS);
  if (after_call_of(l, "einsum"))
    neo_diag_help(l->diags, h, "%s", neo_foreign_help("einsum"));
  return push(l, NEO_TOK_ERROR, at, n);
}

static uint32_t scan_unknown(neo_lexer *l, uint32_t at) {
  size_t n = neo_utf8_decode(l->text + at, l->size_bytes - at, NULL);
  uint32_t length = n ? (uint32_t)n : 1;
  if (is_control(l->text[at]))
    report_control(l, at);
  else if (n) /* if not, BAD_UTF8 was reported */
    report(l, at, length, NEO_D_BAD_CHAR);
  /* A run of them (a word in another script) is one error. */
  while (at + length < l->size_bytes && (unsigned char)l->text[at + length] >= 0x80)
    length++;
  return push(l, NEO_TOK_ERROR, at, length);
}

static uint32_t scan_foreign(neo_lexer *l, uint32_t at, const foreign *f) {
  uint32_t length = (uint32_t)strlen(f->text);
  int h = report(l, at, length, NEO_D_NO_SUCH_SIGN);
  neo_diag_help(l->diags, h, "%s", f->help);
  uint32_t end = push(l, f->reads_as, at, length);
  l->tokens.at[l->tokens.n - 1].foreign = true;
  return end;
}

static uint32_t scan_sign(neo_lexer *l, uint32_t at) {
  for (size_t i = 0; i < sizeof foreign_signs / sizeof *foreign_signs; i++) {
    bool is_ne = peek(l, at, 1) == '=' && l->text[at] == '!';
    if (!is_ne && starts_with(l, at, foreign_signs[i].text))
      return scan_foreign(l, at, &foreign_signs[i]);
  }
  neo_tok best = NEO_TOK_ERROR;
  size_t length = 0;
  for (neo_tok k = 0; k < NEO_TOK_TRUE; k++) {
    const char *text = neo_tok_text(k);
    if (strlen(text) > length && !is_letter(text[0]) && starts_with(l, at, text)) {
      best = k;
      length = strlen(text);
    }
  }
  return length ? push(l, best, at, (uint32_t)length) : scan_unknown(l, at);
}

static uint32_t scan_token(neo_lexer *l, uint32_t at) {
  char c = l->text[at];
  if (is_letter(c))
    return scan_word(l, at);
  if (is_digit(c) || (c == '.' && is_digit(peek(l, at, 1))))
    return scan_number(l, at);
  if (c == '"' || c == '\'' || c == '`')
    return scan_string(l, at);
  return scan_sign(l, at);
}

/* Reports the first place that is no UTF-8, comments included. */
static void check_utf8(neo_lexer *l) {
  for (size_t i = 0; i < l->size_bytes;) {
    bool ascii = (unsigned char)l->text[i] < 0x80;
    size_t n = ascii ? 1 : neo_utf8_decode(l->text + i, l->size_bytes - i, NULL);
    if (n == 0) {
      report(l, (uint32_t)i, 1, NEO_D_BAD_UTF8);
      return;
    }
    i += n;
  }
}

static void scan(neo_lexer *l) {
  check_utf8(l);
  bool line_start = true;
  uint32_t at = l->size_bytes >= 3 && memcmp(l->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  while (at < l->size_bytes) {
    char c = l->text[at];
    if (c == '\n' || c == ' ' || c == '\t' || c == '\r') {
      line_start |= c == '\n';
      at++;
    } else if (c == '#') {
      at = scan_comment(l, at);
      l->comments.at[l->comments.n - 1].alone = line_start;
    } else {
      at = scan_token(l, at);
      l->tokens.at[l->tokens.n - 1].line_start = line_start;
      line_start = false;
    }
  }
}

void neo_lex(neo_lexer *l) {
  scan(l);
  neo_lex_layout(l);
}
