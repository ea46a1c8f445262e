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

bool neoc_has(const neoc_cli *cli, neoc_option o) {
  return cli->value[o].n > 0;
}

const char *neoc_text(const neoc_cli *cli, neoc_option o, const char *otherwise) {
  return neoc_has(cli, o) ? cli->value[o].at[cli->value[o].n - 1] : otherwise;
}

bool neoc_parse_int(const char *text, int64_t *x) {
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (errno || end == text || *end)
    return false;
  *x = v;
  return true;
}

bool neoc_parse_real(const char *text, double *x) {
  char *end;
  *x = strtod(text, &end);
  if (end == text)
    return false;
  if (*end == '/') {
    const char *below = end + 1;
    *x /= strtod(below, &end);
    if (end == below)
      return false;
  }
  return *end == 0 && !isnan(*x);
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

double neoc_real(const neoc_cli *cli, neoc_option o, double otherwise, neoc_exit *e) {
  double x = otherwise;
  if (!neoc_has(cli, o))
    return x;
  const char *text = neoc_text(cli, o, "");
  if (!neoc_parse_real(text, &x) || !(x >= 0))
    *e = neoc_usage(cli, "--%s is a number of at least 0, not '%s'", names[o], text);
  return x;
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
