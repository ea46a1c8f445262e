/* See machine_text.h. */
#include "base/machine_text.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum { BOTH, CORE, SM } kind_of_machine;
typedef enum { REAL, WHOLE } kind_of_number;

typedef struct {
  kind_of_machine of;
  const char *key;
  kind_of_number number;
  double least, most;
  const char *meaning;
} field;

static const field fields[] = {
#define X(of, key, member, number, least, most, meaning) \
  {of, #key, number, (double)(least), (double)(most), meaning},
#include "base/machine_fields.def"
#undef X
};
enum { N_FIELDS = sizeof fields / sizeof *fields, LONGEST = 256 };

static double get(const neo_machine *m, int k) {
  const double values[] = {
#define X(of, key, member, number, least, most, meaning) (double)m->member,
#include "base/machine_fields.def"
#undef X
  };
  return values[k];
}

static void set(neo_machine *m, int k, double x) {
  int i = 0;
#define X(of, key, member, number, least, most, meaning) \
  if (i++ == k)                                          \
    m->member = (__typeof__(m->member))x;
#include "base/machine_fields.def"
#undef X
}

static bool is_of(const field *f, const neo_machine *m) {
  return f->of == BOTH || f->of == (m->gpu ? SM : CORE);
}

/* ---- printing */

void neo_machine_print(const neo_machine *m, neo_str *out) {
  neo_str_addf(out, "neo-profile 1\nmachine = %s\n", m->name);
  for (int k = 0; k < N_FIELDS; k++)
    if (is_of(&fields[k], m))
      neo_str_addf(out, "%s = %.12g # %s\n", fields[k].key, get(m, k), fields[k].meaning);
}

/* ---- parsing */

typedef struct {
  neo_machine *m;
  neo_str *why;
  int line;
  bool named, seen[N_FIELDS];
} parser;

static bool fail(parser *p, const char *what, const char *name) {
  neo_str_addf(p->why, "line %d: %s", p->line, what);
  if (name)
    neo_str_addf(p->why, " '%s'", name);
  return false;
}

/* Removes a comment, and blanks at both ends. */
static char *trimmed(char *s) {
  s[strcspn(s, "#")] = 0;
  s += strspn(s, " \t\r");
  size_t n = strlen(s);
  while (n && strchr(" \t\r", s[n - 1]))
    s[--n] = 0;
  return s;
}

static bool take_machine(parser *p, const char *value) {
  const neo_machine *row = neo_machine_named(value);
  if (p->named)
    return fail(p, "the machine is named twice", NULL);
  if (!row)
    return fail(p, "no machine has the name", value);
  *p->m = *row;
  p->named = true;
  return true;
}

static bool take_number(parser *p, int k, const char *value) {
  const field *f = &fields[k];
  char *end;
  errno = 0;
  double x = strtod(value, &end);
  if (!*value || *end || errno || !isfinite(x) || (f->number == WHOLE && x != floor(x)))
    return fail(p, f->number == WHOLE ? "no integer:" : "no number:", value);
  if (x < f->least || x > f->most) {
    neo_str_addf(p->why, "line %d: %s is from %g to %g, not %s", p->line, f->key, f->least, f->most,
                 value);
    return false;
  }
  if (p->seen[k])
    return fail(p, "said twice:", f->key);
  p->seen[k] = true;
  set(p->m, k, x);
  return true;
}

static bool take_line(parser *p, char *line) {
  char *text = trimmed(line), *equals = strchr(text, '=');
  if (!*text)
    return true;
  if (!equals)
    return fail(p, "expected KEY = VALUE, not", text);
  *equals = 0;
  const char *key = trimmed(text), *value = trimmed(equals + 1);
  if (neo_streq(key, "machine"))
    return take_machine(p, value);
  if (!p->named)
    return fail(p, "expected machine = NAME before", key);
  for (int k = 0; k < N_FIELDS; k++)
    if (neo_streq(fields[k].key, key) && is_of(&fields[k], p->m))
      return take_number(p, k, value);
  return fail(p, "a profile of such a machine has no", key);
}

bool neo_machine_parse(const char *text, size_t n, neo_machine *out, neo_str *why) {
  parser p = {.m = out, .why = why};
  while (n) {
    char line[LONGEST];
    const char *end = memchr(text, '\n', n);
    size_t length = end ? (size_t)(end - text) : n;
    p.line++;
    if (length >= sizeof line)
      return fail(&p, "longer than a line may be", NULL);
    memcpy(line, text, length);
    line[length] = 0;
    text += length + (end != NULL);
    n -= length + (end != NULL);
    if (p.line == 1 && !neo_streq(trimmed(line), "neo-profile 1"))
      return fail(&p, "expected neo-profile 1, not", trimmed(line));
    if (p.line > 1 && !take_line(&p, line))
      return false;
  }
  return p.named || fail(&p, "a profile names its machine: machine = x86-64-v3", NULL);
}
