/* Text building, decimal numbers, JSON strings, edit distance. */
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void neo_str_init(neo_str *s, neo_arena *arena) {
  *s = (neo_str){.arena = arena};
}

/* Room for n more bytes and the NUL. */
static void reserve(neo_str *s, size_t n) {
  if (n < s->cap - s->n)
    return;
  size_t cap = s->cap ? s->cap : 64;
  while (cap - s->n <= n)
    cap = cap > SIZE_MAX / 2 ? SIZE_MAX : 2 * cap;
  char *at = neo_arena_alloc(s->arena, cap);
  if (s->n > 0)
    memcpy(at, s->at, s->n);
  s->at = at;
  s->cap = cap;
}

void neo_str_addn(neo_str *s, const char *text, size_t n) {
  reserve(s, n);
  if (n > 0)
    memcpy(s->at + s->n, text, n);
  s->n += n;
  s->at[s->n] = '\0';
}

void neo_str_add(neo_str *s, const char *text) {
  neo_str_addn(s, text, strlen(text));
}

void neo_str_addc(neo_str *s, char c) {
  neo_str_addn(s, &c, 1);
}

void neo_str_addf(neo_str *s, const char *fmt, ...) {
  va_list ap, again;
  va_start(ap, fmt);
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  va_end(ap);
  if (n > 0) {
    reserve(s, (size_t)n);
    vsnprintf(s->at + s->n, (size_t)n + 1, fmt, again);
    s->n += (size_t)n;
  }
  va_end(again);
}

const char *neo_str_text(const neo_str *s) {
  return s->at ? s->at : "";
}

void neo_str_add_f64(neo_str *s, double x) {
  if (isnan(x)) {
    neo_str_add(s, "nan");
    return;
  }
  char text[40];
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, x);
    if (strtod(text, NULL) == x)
      break;
  }
  neo_str_add(s, text);
}

static const char *json_escape(char c) {
  switch (c) {
  case '"':
    return "\\\"";
  case '\\':
    return "\\\\";
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  default:
    return NULL;
  }
}

void neo_str_add_json(neo_str *s, const char *text) {
  neo_str_addc(s, '"');
  for (; *text; text++) {
    const char *escape = json_escape(*text);
    if (escape)
      neo_str_add(s, escape);
    else if ((unsigned char)*text < 0x20 || *text == 0x7f)
      neo_str_addf(s, "\\u%04x", (unsigned char)*text);
    else
      neo_str_addc(s, *text);
  }
  neo_str_addc(s, '"');
}

bool neo_streq(const char *a, const char *b) {
  return strcmp(a, b) == 0;
}

enum { LONGEST_NAME = 128 };

static int least(int a, int b) {
  return a < b ? a : b;
}

/* One row of the table: now[j] = distance of a[0..i] and b[0..j]; returns the row's least. */
static int distance_row(const char *a, const char *b, int i, int n, const int *before,
                        const int *last, int *now) {
  now[0] = i;
  int row_least = i;
  for (int j = 1; j <= n; j++) {
    int change = last[j - 1] + (a[i - 1] != b[j - 1]);
    now[j] = least(change, 1 + least(last[j], now[j - 1]));
    if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
      now[j] = least(now[j], before[j - 2] + 1);
    row_least = least(row_least, now[j]);
  }
  return row_least;
}

/* Optimal string alignment (Damerau 1964; no substring is edited twice): insertions, deletions,
 * changes, and swaps of neighbours count one each. Names that are too long for the rows count as
 * different. */
int neo_str_distance(const char *a, const char *b, int limit) {
  size_t m = strlen(a), n = strlen(b);
  size_t difference = m > n ? m - n : n - m;
  if (m > LONGEST_NAME || n > LONGEST_NAME || (limit >= 0 && difference > (size_t)limit))
    return neo_streq(a, b) ? 0 : limit + 1;
  int rows[3][LONGEST_NAME + 1];
  for (int j = 0; j <= (int)n; j++)
    rows[0][j] = j;
  int last_least = 0;
  for (int i = 1; i <= (int)m; i++) {
    int now_least =
        distance_row(a, b, i, (int)n, rows[(i + 1) % 3], rows[(i + 2) % 3], rows[i % 3]);
    if (now_least > limit && last_least > limit) /* a swap reaches two rows back */
      return limit + 1;
    last_least = now_least;
  }
  return least(rows[m % 3][n], limit + 1);
}
