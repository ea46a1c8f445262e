/* Finds the files that a command reads, and the records in them that it uses. */
#include "base/hash.h"
#include "base/json.h"
#include "base/map.h"
#include "tools/cache/commands.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *cache_own_file(const cache_cli *cli) {
  const char *path = neo_records_place(cli->arena);
  if (!path)
    cache_fail(cli, CACHE_IO, "neither XDG_CACHE_HOME nor HOME names a folder: name a file");
  return path;
}

unsigned cache_flags(const cache_cli *cli, const char *path) {
  const char *own = neo_records_place(cli->arena);
  return own && neo_streq(own, path) ? NEO_RECORDS_PRIVATE : 0;
}

static void tell_damage(const cache_cli *cli, const neo_records_file *f) {
  if (f->bad_lines)
    fprintf(stderr, "%s %s: %s: %zu damaged line%s passed over; %s\n", cli->program,
            cli->command->name, f->path, f->bad_lines, f->bad_lines == 1 ? "" : "s", f->first_bad);
}

static cache_exit exit_of(neo_status s) {
  return s == NEO_IO ? CACHE_IO : s == NEO_MEMORY ? CACHE_MEMORY : CACHE_FAILED;
}

static cache_exit load_one(cache_cli *cli, const char *path, bool may_be_missing,
                           neo_records *out) {
  const char *why = NULL;
  neo_status s = neo_records_load(out, &neo_io_default, path, cache_flags(cli, path), &why);
  if (s == NEO_IO && errno == ENOENT && may_be_missing) {
    fprintf(stderr, "%s %s: there are no records yet: %s\n", cli->program, cli->command->name,
            path);
    return CACHE_OK;
  }
  if (s)
    return cache_fail(cli, exit_of(s), "%s", why);
  tell_damage(cli, &out->files.at[out->files.n - 1]);
  return CACHE_OK;
}

cache_exit cache_load(cache_cli *cli, int first, neo_records *out) {
  cache_exit e = CACHE_OK;
  neo_records_init(out, cli->arena);
  if (first >= cli->n_args) {
    const char *own = cache_own_file(cli);
    return own ? load_one(cli, own, true, out) : CACHE_IO;
  }
  for (int k = first; !e && k < cli->n_args; k++)
    e = load_one(cli, cli->args[k], false, out);
  return e;
}

/* ---- JSON */

static cache_exit take_json(cache_cli *cli, const char *path, const neo_json *j, size_t number,
                            neo_records *out) {
  neo_record r;
  const char *why = "out of memory";
  char *text = neo_json_print(j);
  neo_status s = text ? neo_record_parse(out->arena, text, strlen(text), &r, &why) : NEO_MEMORY;
  free(text);
  if (s)
    return cache_fail(cli, exit_of(s), "%s: record %zu: %s", path, number, why);
  neo_records_add(out, &r);
  return CACHE_OK;
}

/* A list of records, an object with such a list (as `list --format=json` writes), or one record. */
static cache_exit take_all(cache_cli *cli, const char *path, const neo_json *j, neo_records *out) {
  const neo_json *list = neo_json_get(j, "records");
  if (!list && neo_json_is_object(j))
    return take_json(cli, path, j, 1, out);
  cache_exit e = CACHE_OK;
  size_t number = 0;
  for (const neo_json *k = neo_json_first(list ? list : j); !e && k; k = neo_json_next(k))
    e = take_json(cli, path, k, ++number, out);
  return e;
}

static cache_exit load_json(cache_cli *cli, const char *path, const char *text, size_t n,
                            neo_records *out) {
  neo_json *j;
  neo_status s = neo_json_parse(text, n, &j);
  if (s)
    return cache_fail(cli, exit_of(s), "%s: neither records nor JSON", path);
  cache_exit e = take_all(cli, path, j, out);
  neo_json_free(j);
  return e;
}

cache_exit cache_load_any(cache_cli *cli, const char *path, neo_records *out) {
  char *text;
  size_t n;
  const char *why = NULL, *file = neo_streq(path, "-") ? "/dev/stdin" : path;
  neo_status s = neo_file_read(&neo_io_default, cli->arena, file, (size_t)256 << 20, &text, &n);
  if (s)
    return cache_fail(cli, exit_of(s), "%s: %s", path, strerror(errno));
  size_t space = strspn(text, " \t\r\n");
  if (text[space] == '{' || text[space] == '[')
    return load_json(cli, path, text, n, out);
  s = neo_records_take(out, path, text, n, &why);
  if (s)
    return cache_fail(cli, exit_of(s), "%s", why);
  tell_damage(cli, &out->files.at[out->files.n - 1]);
  return CACHE_OK;
}

/* ---- which records */

static bool has(const char *text, const char *part) {
  return !part || strstr(text, part);
}

bool cache_wanted(const cache_cli *cli, const neo_record *r) {
  return has(r->name, cli->value[CACHE_O_NAME]) && has(r->target, cli->value[CACHE_O_TARGET]) &&
         has(r->build, cli->value[CACHE_O_BUILD]) && neo_record_ratio(r) <= cli->most_ratio;
}

static uint64_t question(const neo_record *r) {
  uint64_t h = neo_hash_mix(neo_hash_mix(r->key[0], r->key[1]), r->threads);
  h = neo_hash(r->target, strlen(r->target), h);
  return neo_hash(r->build, strlen(r->build), h);
}

bool *cache_best(const neo_records *s) {
  bool *is = NEO_NEW_ARRAY(s->arena, bool, s->all.n + 1);
  neo_map best = neo_map_in(s->arena);
  for (size_t k = 0; k < s->all.n; k++) {
    uint64_t q = question(&s->all.at[k]), old;
    bool known = neo_map_get(&best, q, &old);
    if (known && !neo_record_better(&s->all.at[old], &s->all.at[k]))
      continue;
    if (known)
      is[old] = false;
    is[k] = true;
    neo_map_set(&best, q, k);
  }
  return is;
}
