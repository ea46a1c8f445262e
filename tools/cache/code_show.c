/* The command `code`: shows the contents of the cache of compiled code, and makes it smaller. */
#include "base/str.h"
#include "tools/cache/code.h"
#include "tools/cache/commands.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char *bytes_text(neo_arena *a, int64_t n) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
  double x = (double)n;
  int k = 0;
  for (; k < 3 && x >= 1023.95; k++)
    x /= 1024;
  return neo_arena_printf(a, "%.*f %s", k ? 1 : 0, x, units[k]);
}

static const char *date(neo_arena *a, int64_t when) {
  char text[64];
  struct tm tm;
  time_t t = (time_t)when;
  if (!when || !gmtime_r(&t, &tm) || !strftime(text, sizeof text, "%Y-%m-%d", &tm))
    return "-";
  return neo_arena_strdup(a, text);
}

static cache_exit failed(const cache_cli *cli, const char *folder) {
  return cache_fail(cli, CACHE_IO, "%s: %s", folder, strerror(errno));
}

/* ---- looking */

static int64_t all_bytes(const neo_code_usage *u) {
  int64_t all = 0;
  for (int k = 0; k < NEO_CODE_KINDS; k++)
    all += u->bytes[k];
  return all;
}

static void put_json(const char *folder, const neo_code_usage *u) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str name = neo_str_in(&a);
  neo_str_add_json(&name, folder);
  printf("{\"folder\":%s,\"limit_bytes\":%" PRId64 ",\"bytes\":%" PRId64 ",\"builds\":%zu,"
         "\"kernels\":%zu,\"schedules\":%zu,\"hits\":%" PRIu64 ",\"misses\":%" PRIu64
         ",\"ok\":true}\n",
         neo_str_text(&name), neo_code_limit(), all_bytes(u), u->entries[NEO_CODE_BUILD],
         u->entries[NEO_CODE_KERNEL], u->entries[NEO_CODE_SCHEDULE], u->hits, u->misses);
  neo_arena_free(&a);
}

static void put_kind(neo_arena *a, const char *name, const neo_code_usage *u, neo_code_kind k) {
  printf("%-10s %zu, %s\n", name, u->entries[k], bytes_text(a, u->bytes[k]));
}

static void put_text(neo_arena *a, const char *folder, const neo_code_usage *u) {
  printf("folder     %s\n", folder);
  printf("size       %s of %s\n", bytes_text(a, all_bytes(u)), bytes_text(a, neo_code_limit()));
  put_kind(a, "builds", u, NEO_CODE_BUILD);
  put_kind(a, "kernels", u, NEO_CODE_KERNEL);
  put_kind(a, "schedules", u, NEO_CODE_SCHEDULE);
  printf("found      %" PRIu64 " of %" PRIu64 " entries that were asked for\n", u->hits,
         u->hits + u->misses);
  printf("oldest     last used %s\n", date(a, u->oldest));
}

/* Shows the folder's usage; a missing folder is empty. */
static cache_exit show(const cache_cli *cli, const char *folder) {
  neo_code_usage u;
  if (neo_code_survey(cli->arena, folder, &u) && errno != ENOENT)
    return failed(cli, folder);
  if (cli->json)
    put_json(folder, &u);
  else
    put_text(cli->arena, folder, &u);
  return CACHE_OK;
}

/* ---- making it smaller */

static cache_exit read_bounds(cache_cli *cli, bool clear, neo_code_bounds *b) {
  const char *most = cli->value[CACHE_O_MAX_BYTES];
  int64_t days;
  *b = (neo_code_bounds){.most_bytes = clear ? 0 : neo_code_limit(),
                         .dry = cli->value[CACHE_O_DRY_RUN] != NULL,
                         .counts = clear};
  if (most && !neo_code_parse_bytes(most, &b->most_bytes))
    return cache_usage(cli, "--max-bytes is a number of bytes, as 512M, not '%s'", most);
  if (!cli->value[CACHE_O_OLDER_THAN])
    return CACHE_OK;
  if (cache_number(cli, CACHE_O_OLDER_THAN, &days))
    return CACHE_USAGE;
  int64_t now = (int64_t)time(NULL);
  b->oldest = days < now / 86400 ? now - days * 86400 : 1;
  return CACHE_OK;
}

static cache_exit prune(cache_cli *cli, const char *folder, bool clear) {
  neo_code_bounds b;
  size_t removed = 0, kept = 0;
  cache_exit e = read_bounds(cli, clear, &b);
  if (e)
    return e;
  if (neo_code_prune(cli->arena, folder, &b, &removed, &kept) && errno != ENOENT)
    return failed(cli, folder);
  if (cli->json)
    printf("{\"removed\":%zu,\"kept\":%zu,\"ok\":true}\n", removed, kept);
  else
    printf("%s: %zu %s removed, %zu kept\n", folder, removed,
           b.dry          ? "would be"
           : removed == 1 ? "entry"
                          : "entries",
           kept);
  return CACHE_OK;
}

cache_exit neo_cache_code(cache_cli *cli) {
  const char *what = cli->n_args ? cli->args[0] : "", *why = NULL;
  const char *folder = cli->value[CACHE_O_CACHE];
  bool clear = neo_streq(what, "clear"), is_prune = neo_streq(what, "prune");
  if (cli->n_args > 1 || (*what && !clear && !is_prune))
    return cache_usage(cli, "code takes prune, clear or nothing");
  if (!*what && (cli->value[CACHE_O_MAX_BYTES] || cli->value[CACHE_O_OLDER_THAN]))
    return cache_usage(cli, "nothing is removed without prune: code prune --max-bytes=N");
  if (!folder && !(folder = neo_code_place(cli->arena)))
    return cache_fail(cli, CACHE_IO,
                      "there is no code cache: NEO_CODE_CACHE is none, or there is no home folder");
  if (!neo_code_open(&neo_io_default, cli->arena, folder, 0, &why))
    return cache_fail(cli, CACHE_IO, "%s", why);
  return *what ? prune(cli, folder, clear) : show(cli, folder);
}
