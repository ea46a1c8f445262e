/* The values of options, and of words like NAME=VALUE. */
#include "tools/neoc/neoc.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define X(id, name, letter, value, commands, meaning) name,
#include "tools/neoc/options.def"
#undef X
};

static const char *const forms[] = {
#define X(id, name, letter, value, commands, meaning) value,
#include "tools/neoc/options.def"
#undef X
};

bool neoc_has(const neoc_cli *cli, neoc_option o) {
  return cli->value[o].n > 0;
}

const char *neoc_text(const neoc_cli *cli, neoc_option o, const char *otherwise) {
  return neoc_has(cli, o) ? cli->value[o].at[cli->value[o].n - 1] : otherwise;
}

/* strtoll also takes spaces and a plus. */
static bool begins_number(const char *text) {
  return strchr("0123456789", text[*text == '-']) && text[*text == '-'];
}

bool neoc_parse_int(const char *text, int64_t *x) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (errno || !begins_number(text) || *end)
    return false;
  *x = v;
  return true;
}

bool neoc_parse_seed(const char *text, uint64_t *x) {
  char *end;
  errno = 0;
  unsigned long long v = strtoull(text, &end, 10);
  if (errno || *end || !begins_number(text) || *text == '-')
    return false;
  *x = v;
  return true;
}

bool neoc_read_number(const char *text, const char **end, neoc_number *x) {
  char *after;
  errno = 0;
  x->f = strtod(text, &after);
  if (after == text || (errno == ERANGE && isinf(x->f)))
    return false;
  *end = after;
  errno = 0;
  x->i = strtoll(text, &after, 10);
  x->whole = after == *end && !errno;
  return true;
}

bool neoc_parse_real(const char *text, double *x) {
  neoc_number above, below = {.f = 1};
  const char *end;
  if (!neoc_read_number(text, &end, &above))
    return false;
  if (*end == '/' && (!neoc_read_number(end + 1, &end, &below) || below.f == 0))
    return false;
  *x = above.f / below.f;
  return *end == 0 && !isnan(*x);
}

bool neoc_parse_bytes(const char *text, int64_t *x) {
  char *end;
  errno = 0;
  int64_t n = strtoll(text, &end, 10), unit = 1;
  if (errno || !*text || !strchr("0123456789", *text))
    return false;
  *x = n;
  for (const char *c = "KMG"; *c; c++) {
    unit *= 1024;
    if (*end == *c && !end[1])
      return !__builtin_mul_overflow(n, unit, x);
  }
  return *end == 0;
}

int64_t neoc_int(const neoc_cli *cli, neoc_option o, int64_t otherwise, int64_t lo, neoc_exit *e) {
  int64_t x = otherwise;
  if (!neoc_has(cli, o))
    return x;
  const char *text = neoc_text(cli, o, "");
  if (!neoc_parse_int(text, &x) || x < lo)
    *e = neoc_usage(cli, "--%s is a whole number of at least %lld, not '%s'", names[o],
                    (long long)lo, text);
  return x;
}

int32_t neoc_count(const neoc_cli *cli, neoc_option o, int32_t otherwise, int32_t lo,
                   neoc_exit *e) {
  int64_t x = neoc_int(cli, o, otherwise, lo, e);
  if (x > INT32_MAX) {
    *e = neoc_usage(cli, "--%s is at most %ld, not '%s'", names[o], (long)INT32_MAX,
                    neoc_text(cli, o, ""));
    return lo;
  }
  return (int32_t)x;
}

double neoc_real(const neoc_cli *cli, neoc_option o, double otherwise, neoc_exit *e) {
  double x = otherwise;
  if (!neoc_has(cli, o))
    return x;
  const char *text = neoc_text(cli, o, "");
  if (!neoc_parse_real(text, &x) || !(x >= 0))
    *e = neoc_usage(cli, "--%s is a number of at least 0, not '%s'", names[o], text);
  return x;
}

/* A list is "A,B" in the table of options: a name, a comma, more. */
static bool is_list(const char *form) {
  return form && strchr(form, ',') && *form != '[';
}

static bool has_empty_word(const char *list) {
  size_t n = strlen(list);
  return n == 0 || list[0] == ',' || list[n - 1] == ',' || strstr(list, ",,");
}

neoc_exit neoc_values_check(const neoc_cli *cli) {
  for (int o = 0; o < NEOC_O_COUNT; o++)
    for (size_t k = 0; k < cli->value[o].n; k++) {
      const char *text = cli->value[o].at[k];
      if (forms[o] && !*text && o != NEOC_O_PASSES)
        return neoc_usage(cli, "--%s needs a value: %s", names[o], forms[o]);
      if (is_list(forms[o]) && *text && has_empty_word(text))
        return neoc_usage(cli, "--%s takes %s: a name is missing in '%s'", names[o], forms[o],
                          text);
    }
  return NEOC_OK;
}

neoc_texts neoc_words(const neoc_cli *cli, neoc_option o) {
  neoc_texts out = {0};
  for (size_t k = 0; k < cli->value[o].n; k++)
    for (const char *p = cli->value[o].at[k]; *p;) {
      size_t n = strcspn(p, ",");
      if (n)
        NEO_PUSH(cli->arena, &out, neo_arena_strndup(cli->arena, p, n));
      p += n + (p[n] == ',');
    }
  return out;
}

char *neoc_pair(const neoc_cli *cli, const char *text, const char **value) {
  const char *equals = strchr(text, '=');
  if (!equals || equals == text)
    return NULL;
  *value = equals + 1;
  return neo_arena_strndup(cli->arena, text, (size_t)(equals - text));
}

neoc_exit neoc_pairs_differ(const neoc_cli *cli, const char *option, neoc_texts words) {
  const char *unused;
  for (size_t k = 0; k < words.n; k++) {
    const char *name = neoc_pair(cli, words.at[k], &unused);
    for (size_t i = 0; i < k && name; i++) {
      const char *other = neoc_pair(cli, words.at[i], &unused);
      if (other && neo_streq(name, other))
        return neoc_usage(cli, "%s%s is given twice: '%s' and '%s'", option, name, words.at[i],
                          words.at[k]);
    }
  }
  return NEOC_OK;
}
