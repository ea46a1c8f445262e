/* Reading a command's options, as getopt_long does, but with all of its state in the reader:
 * several threads may read command lines at the same time. */
#include "tools/cache/usage.h"
#include <string.h>

void neo_usage_begin(neo_usage_reader *r, const neo_usage *u, const char *command, int argc,
                     char **argv) {
  *r = (neo_usage_reader){.usage = u, .command = command, .argv = argv, .argc = argc};
}

static neo_usage_found end(neo_usage_reader *r, const char *value) {
  bool takes = r->usage->options[r->option].value != NULL;
  if (!takes && value)
    return NEO_USAGE_TAKES_NONE;
  if (takes && !value && r->at == r->argc)
    return NEO_USAGE_LACKS_VALUE;
  r->value = !takes ? "" : value ? value : r->argv[r->at++];
  return NEO_USAGE_OPTION;
}

/* Finds a long option by its whole name, or by a prefix that fits one name only. */
static bool find_long(neo_usage_reader *r, const char *name, size_t n) {
  size_t near = 0;
  for (size_t k = 0; k < r->usage->n_options; k++) {
    const neo_usage_option *o = &r->usage->options[k];
    if (!neo_usage_applies(o, r->command) || strncmp(o->name, name, n) != 0)
      continue;
    r->option = k;
    if (!o->name[n])
      return true;
    near++;
  }
  return near == 1;
}

static neo_usage_found read_long(neo_usage_reader *r) {
  const char *name = r->word + 2, *equals = strchr(name, '=');
  if (!find_long(r, name, equals ? (size_t)(equals - name) : strlen(name)))
    return NEO_USAGE_UNKNOWN;
  return end(r, equals ? equals + 1 : NULL);
}

static bool find_letter(neo_usage_reader *r, char letter) {
  for (r->option = 0; r->option < r->usage->n_options; r->option++) {
    const neo_usage_option *o = &r->usage->options[r->option];
    if (o->letter == letter && neo_usage_applies(o, r->command))
      return true;
  }
  return false;
}

/* -q, -qv, -oFILE, -o FILE */
static neo_usage_found read_letter(neo_usage_reader *r) {
  r->letter[0] = '-';
  r->letter[1] = *r->rest++;
  if (!find_letter(r, r->letter[1])) {
    r->word = r->letter;
    return NEO_USAGE_UNKNOWN;
  }
  bool takes = r->usage->options[r->option].value != NULL;
  const char *value = takes && *r->rest ? r->rest : NULL;
  r->rest = takes || !*r->rest ? NULL : r->rest;
  return end(r, value);
}

/* The next option. Words that are no options move to the front of the array, over words that were
 * read already. */
neo_usage_found neo_usage_next(neo_usage_reader *r) {
  if (r->rest)
    return read_letter(r);
  while (r->at < r->argc) {
    char *word = r->argv[r->at++];
    r->word = word;
    if (r->plain || word[0] != '-' || !word[1]) {
      r->argv[r->n_args++] = word;
      continue;
    }
    r->plain = strcmp(word, "--") == 0;
    if (r->plain)
      continue;
    r->rest = word[1] == '-' ? NULL : word + 1;
    return r->rest ? read_letter(r) : read_long(r);
  }
  return NEO_USAGE_END;
}
