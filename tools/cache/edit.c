/* Commands that write: merge, import, export, prune. */
#include "tools/cache/commands.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static cache_exit failed(const cache_cli *cli, neo_status s, const char *why) {
  return cache_fail(cli,
                    s == NEO_IO       ? CACHE_IO
                    : s == NEO_MEMORY ? CACHE_MEMORY
                                      : CACHE_FAILED,
                    "%s", why);
}

/* ---- merge, import */

typedef struct {
  cache_cli *cli;
  const neo_records *from;
  const bool *best; /* by record of `from` */
  size_t added, known;
  bool dry;
} merging;

/* Whether two records answer the same question: group, target, build and threads. */
static bool same(const neo_record *a, const neo_record *b) {
  return a->key[0] == b->key[0] && a->key[1] == b->key[1] && a->threads == b->threads &&
         neo_streq(a->target, b->target) && neo_streq(a->build, b->build);
}

static bool has_as_good(const neo_records *s, const neo_record *r) {
  for (size_t k = 0; k < s->all.n; k++)
    if (same(&s->all.at[k], r) && neo_record_ratio(&s->all.at[k]) <= neo_record_ratio(r))
      return true;
  return false;
}

static bool merge_into(void *ctx, neo_records *s) {
  merging *m = ctx;
  m->added = m->known = 0;
  for (size_t k = 0; k < m->from->all.n; k++) {
    const neo_record *r = &m->from->all.at[k];
    if (!m->best[k] || !cache_wanted(m->cli, r))
      continue;
    bool known = has_as_good(s, r);
    m->known += known;
    m->added += !known;
    if (!known)
      neo_records_add(s, r);
  }
  return m->added && !m->dry;
}

static cache_exit load_sources(cache_cli *cli, neo_records *from) {
  bool import = neo_streq(cli->command->name, "import");
  cache_exit e = CACHE_OK;
  if (!cli->n_args)
    return cache_usage(cli, "which files?");
  if (!import)
    return cache_load(cli, 0, from);
  neo_records_init(from, cli->arena);
  for (int k = 0; !e && k < cli->n_args; k++)
    e = cache_load_any(cli, cli->args[k], from);
  return e;
}

/* Checks a merge without changing a file: a missing file is not created. */
static neo_status try_merge(cache_cli *cli, const char *path, merging *m, const char **why) {
  neo_records s;
  neo_records_init(&s, cli->arena);
  if (neo_path_exists(path)) {
    neo_status status = neo_records_load(&s, &neo_io_default, path, cache_flags(cli, path), why);
    if (status)
      return status;
  }
  merge_into(m, &s);
  return NEO_OK;
}

cache_exit neo_cache_merge(cache_cli *cli) {
  neo_records from;
  const char *why = NULL, *path = cli->value[CACHE_O_OUTPUT];
  cache_exit e = load_sources(cli, &from);
  if (!e && !path && !(path = cache_own_file(cli)))
    e = CACHE_IO;
  if (e)
    return e;
  merging m = {.cli = cli,
               .from = &from,
               .best = cache_best(&from),
               .dry = cli->value[CACHE_O_DRY_RUN] != NULL};
  neo_status s = m.dry ? try_merge(cli, path, &m, &why)
                       : neo_records_rewrite(&neo_io_default, cli->arena, path,
                                             cache_flags(cli, path), merge_into, &m, &why);
  if (s)
    return failed(cli, s, why);
  if (cli->json)
    printf("{\"added\":%zu,\"known\":%zu,\"ok\":true}\n", m.added, m.known);
  else
    printf("%s: %zu %s added, %zu known or beaten\n", path, m.added,
           m.dry          ? "would be"
           : m.added == 1 ? "record"
                          : "records",
           m.known);
  return CACHE_OK;
}

/* ---- export */

static int order(const void *x, const void *y) {
  const neo_record *a = x, *b = y;
  int by = strcmp(a->target, b->target);
  for (int k = 0; !by && k < 2; k++)
    by = a->family[k] < b->family[k] ? -1 : a->family[k] > b->family[k];
  for (uint32_t k = 0; !by && k < a->n_sizes && k < b->n_sizes; k++)
    by = a->sizes[k] < b->sizes[k] ? -1 : a->sizes[k] > b->sizes[k];
  for (int k = 0; !by && k < 2; k++)
    by = a->key[k] < b->key[k] ? -1 : a->key[k] > b->key[k];
  if (!by)
    by = strcmp(a->build, b->build);
  return by ? by : a->threads < b->threads ? -1 : a->threads > b->threads;
}

cache_exit neo_cache_export(cache_cli *cli) {
  neo_records from, out;
  cache_exit e = cache_load(cli, 0, &from);
  if (e)
    return e;
  const bool *best = cache_best(&from);
  neo_records_init(&out, cli->arena);
  for (size_t k = 0; k < from.all.n; k++)
    if ((best[k] || cli->value[CACHE_O_ALL]) && cache_wanted(cli, &from.all.at[k]))
      neo_records_add(&out, &from.all.at[k]);
  if (out.all.n && !cli->value[CACHE_O_ALL])
    qsort(out.all.at, out.all.n, sizeof *out.all.at, order);
  neo_str text = neo_str_in(cli->arena);
  neo_records_print(&out, &text);
  const char *path = cli->value[CACHE_O_OUTPUT];
  if (!path) {
    fwrite(neo_str_text(&text), 1, text.n, stdout);
    return CACHE_OK;
  }
  if (neo_file_write(&neo_io_default, path, neo_str_text(&text), text.n))
    return cache_fail(cli, CACHE_IO, "%s: it cannot be written", path);
  return CACHE_OK;
}

/* ---- prune */

typedef struct {
  cache_cli *cli;
  int64_t oldest, max_bytes; /* -1: any */
  size_t kept, removed;
  bool dry;
} pruning;

static bool *keepers(const pruning *p, const neo_records *s) {
  bool *keep = cache_best(s);
  const char *target = p->cli->value[CACHE_O_TARGET], *build = p->cli->value[CACHE_O_BUILD];
  for (size_t k = 0; k < s->all.n; k++) {
    const neo_record *r = &s->all.at[k];
    bool named = (target && strstr(r->target, target)) || (build && strstr(r->build, build));
    keep[k] = keep[k] && !named && r->when >= p->oldest;
  }
  return keep;
}

/* Bytes of a file with these records. */
static int64_t length(const neo_records *s, const bool *keep) {
  neo_records some;
  neo_records_init(&some, s->arena);
  for (size_t k = 0; k < s->all.n; k++)
    if (keep[k])
      neo_records_add(&some, &s->all.at[k]);
  neo_str text = neo_str_in(s->arena);
  neo_records_print(&some, &text);
  return (int64_t)text.n;
}

/* The oldest of the records that are kept; the first of equals. */
static size_t oldest(const neo_records *s, const bool *keep) {
  size_t at = s->all.n;
  for (size_t k = 0; k < s->all.n; k++)
    if (keep[k] && (at == s->all.n || s->all.at[k].when < s->all.at[at].when))
      at = k;
  return at;
}

static int64_t line_bytes(const neo_records *s, size_t k) {
  neo_str text = neo_str_in(s->arena);
  neo_record_line(&s->all.at[k], &text);
  return (int64_t)text.n;
}

static bool prune(void *ctx, neo_records *s) {
  pruning *p = ctx;
  bool *keep = keepers(p, s);
  int64_t n = length(s, keep);
  for (size_t k; p->max_bytes >= 0 && n > p->max_bytes && (k = oldest(s, keep)) < s->all.n;) {
    keep[k] = false;
    n -= line_bytes(s, k);
  }
  p->kept = 0;
  for (size_t k = 0; k < s->all.n; k++)
    if (keep[k])
      s->all.at[p->kept++] = s->all.at[k];
  p->removed = s->all.n - p->kept;
  s->all.n = p->kept;
  const neo_records_file *f = &s->files.at[0];
  return !p->dry && (p->removed || f->bad_lines || f->torn_bytes);
}

static cache_exit read_limits(cache_cli *cli, pruning *p) {
  int64_t days;
  *p = (pruning){.cli = cli, .max_bytes = -1, .dry = cli->value[CACHE_O_DRY_RUN] != NULL};
  if (cli->value[CACHE_O_MAX_BYTES] && cache_number(cli, CACHE_O_MAX_BYTES, &p->max_bytes))
    return CACHE_USAGE;
  if (!cli->value[CACHE_O_OLDER_THAN])
    return CACHE_OK;
  if (cache_number(cli, CACHE_O_OLDER_THAN, &days))
    return CACHE_USAGE;
  int64_t now = (int64_t)time(NULL);
  p->oldest = days < now / 86400 ? now - days * 86400 : 1;
  return CACHE_OK;
}

static cache_exit prune_file(pruning *p, const char *path) {
  const char *why = NULL;
  cache_cli *cli = p->cli;
  if (!neo_path_exists(path)) /* the rewrite would create it */
    return cache_fail(cli, CACHE_IO, "%s: No such file or directory", path);
  neo_status s = neo_records_rewrite(&neo_io_default, cli->arena, path, cache_flags(cli, path),
                                     prune, p, &why);
  if (s)
    return failed(cli, s, why);
  if (!cli->json)
    printf("%s: %zu %s removed, %zu kept\n", path, p->removed,
           p->dry            ? "would be"
           : p->removed == 1 ? "record"
                             : "records",
           p->kept);
  return CACHE_OK;
}

cache_exit neo_cache_prune(cache_cli *cli) {
  pruning p;
  size_t kept = 0, removed = 0;
  cache_exit e = read_limits(cli, &p);
  const char *own = e || cli->n_args ? NULL : cache_own_file(cli);
  if (e || (!cli->n_args && !own))
    return e ? e : CACHE_IO;
  for (int k = 0; !e && k < (own ? 1 : cli->n_args); k++) {
    e = prune_file(&p, own ? own : cli->args[k]);
    kept += p.kept;
    removed += p.removed;
  }
  if (!e && cli->json)
    printf("{\"removed\":%zu,\"kept\":%zu,\"ok\":true}\n", removed, kept);
  return e;
}
