/* Commands that look: list, show, stats, verify. */
#include "base/hash.h"
#include "base/map.h"
#include "tools/cache/commands.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- texts */

static void put_duration(neo_str *out, double ns) {
  static const char *const units[] = {"ns", "us", "ms", "s"};
  int k = 0;
  for (; k < 3 && ns >= 999.5; k++)
    ns /= 1000;
  neo_str_addf(out, "%.*f %s", ns < 9.995 ? 2 : ns < 99.95 ? 1 : 0, ns, units[k]);
}

static const char *duration(neo_arena *a, double ns) {
  neo_str s = neo_str_in(a);
  put_duration(&s, ns);
  return neo_str_text(&s);
}

static const char *sizes(neo_arena *a, const neo_record *r) {
  neo_str s = neo_str_in(a);
  for (uint32_t k = 0; k < r->n_sizes; k++)
    neo_str_addf(&s, "%s%" PRId64, k ? "x" : "", r->sizes[k]);
  return neo_str_text(&s);
}

static const char *date(neo_arena *a, int64_t when, const char *format) {
  char text[64];
  struct tm tm;
  time_t t = (time_t)when;
  if (!when || !gmtime_r(&t, &tm) || !strftime(text, sizeof text, format, &tm))
    return "-";
  return neo_arena_strdup(a, text);
}

/* The first word of a target: the processor. */
static const char *processor(neo_arena *a, const char *target) {
  return neo_arena_strndup(a, target, strcspn(target, " "));
}

/* ---- JSON */

static void put_json_record(neo_str *out, const neo_records *s, const neo_record *r) {
  neo_record_json(r, out);
  out->n--; /* members replace the brace */
  neo_str_add(out, ",\"ratio\":");
  neo_str_add_f64(out, neo_record_ratio(r));
  neo_str_add(out, ",\"file\":");
  const neo_records_file *f = neo_records_file_of(s, r);
  neo_str_add_json(out, f ? f->path : "");
  neo_str_addc(out, '}');
}

static void put_json_files(neo_str *out, const neo_records *s) {
  neo_str_add(out, "\"files\":[");
  for (size_t k = 0; k < s->files.n; k++) {
    const neo_records_file *f = &s->files.at[k];
    neo_str_add(out, k ? ",{\"path\":" : "{\"path\":");
    neo_str_add_json(out, f->path);
    neo_str_addf(out, ",\"records\":%zu,\"damaged_lines\":%zu,\"unfinished_bytes\":%zu}",
                 f->records, f->bad_lines, f->torn_bytes);
  }
  neo_str_addc(out, ']');
}

static void put_json_list(cache_cli *cli, const neo_records *s, const bool *chosen) {
  neo_str out = neo_str_in(cli->arena);
  neo_str_addc(&out, '{');
  put_json_files(&out, s);
  neo_str_add(&out, ",\"records\":[");
  for (size_t k = 0, n = 0; k < s->all.n; k++)
    if (chosen[k]) {
      neo_str_add(&out, n++ ? "," : "");
      put_json_record(&out, s, &s->all.at[k]);
    }
  neo_str_add(&out, "],\"ok\":true}");
  puts(neo_str_text(&out));
}

/* ---- list, show */

static cache_exit load_chosen(cache_cli *cli, neo_records *s, bool **chosen) {
  cache_exit e = cache_load(cli, 0, s);
  if (e)
    return e;
  *chosen = cache_best(s);
  for (size_t k = 0; k < s->all.n; k++)
    (*chosen)[k] = ((*chosen)[k] || !cli->value[CACHE_O_BEST]) && cache_wanted(cli, &s->all.at[k]);
  return CACHE_OK;
}

static int wider(int width, const char *text) {
  int n = (int)strlen(text);
  return n > width ? n : width;
}

cache_exit neo_cache_list(cache_cli *cli) {
  neo_records s;
  bool *chosen;
  neo_arena *a = cli->arena;
  cache_exit e = load_chosen(cli, &s, &chosen);
  if (e)
    return e;
  if (cli->json) {
    put_json_list(cli, &s, chosen);
    return CACHE_OK;
  }
  int name = 4, shape = 5, cpu = 6;
  for (size_t k = 0; k < s.all.n; k++)
    if (chosen[k]) {
      name = wider(name, s.all.at[k].name);
      shape = wider(shape, sizes(a, &s.all.at[k]));
      cpu = wider(cpu, processor(a, s.all.at[k].target));
    }
  printf("%-8s  %-*s  %-*s  %-*s  %7s  %8s  %5s  %6s  %s\n", "key", name, "name", shape, "sizes",
         cpu, "target", "threads", "time", "ratio", "trials", "date");
  for (size_t k = 0; k < s.all.n; k++) {
    const neo_record *r = &s.all.at[k];
    if (chosen[k])
      printf("%08" PRIx64 "  %-*s  %-*s  %-*s  %7u  %8s  %5.3f  %6" PRId64 "  %s\n",
             r->key[0] >> 32, name, r->name, shape, sizes(a, r), cpu, processor(a, r->target),
             r->threads, duration(a, r->time_ns), neo_record_ratio(r), r->trials,
             date(a, r->when, "%Y-%m-%d"));
  }
  return CACHE_OK;
}

static bool matches(const neo_record *r, const char *what) {
  char key[33];
  neo_record_key_text(r->key, key);
  return neo_streq(r->name, what) || (*what && strncmp(key, what, strlen(what)) == 0);
}

static void put_record(cache_cli *cli, const neo_records *s, const neo_record *r) {
  neo_arena *a = cli->arena;
  char key[33], family[33];
  neo_record_key_text(r->key, key);
  neo_record_key_text(r->family, family);
  printf("%s\n  key       %s\n  family    %s\n  sizes     %s\n", r->name, key, family, sizes(a, r));
  printf("  target    %s\n  compiler  %s\n  schedule  %s\n", r->target, r->build, r->schedule);
  if (r->against && *r->against)
    printf("  against   %s\n", r->against);
  printf("  time      %s, default %s: %.3f\n", duration(a, r->time_ns), duration(a, r->default_ns),
         neo_record_ratio(r));
  printf("  measured  %s, %" PRId64 " trials, %u thread%s\n  file      %s\n",
         date(a, r->when, "%Y-%m-%d %H:%M UTC"), r->trials, r->threads, r->threads == 1 ? "" : "s",
         neo_records_file_of(s, r)->path);
}

cache_exit neo_cache_show(cache_cli *cli) {
  neo_records s;
  size_t n = 0;
  if (!cli->n_args)
    return cache_usage(cli, "which group? Give its name, or the beginning of its key");
  cache_exit e = cache_load(cli, 1, &s);
  if (e)
    return e;
  bool *chosen = NEO_NEW_ARRAY(cli->arena, bool, s.all.n + 1);
  for (size_t k = 0; k < s.all.n; k++)
    n += chosen[k] = matches(&s.all.at[k], cli->args[0]);
  if (cli->json)
    put_json_list(cli, &s, chosen);
  for (size_t k = 0; !cli->json && k < s.all.n; k++)
    if (chosen[k])
      put_record(cli, &s, &s.all.at[k]);
  return n ? CACHE_OK : cache_fail(cli, CACHE_FAILED, "no record of '%s'", cli->args[0]);
}

/* ---- stats */

typedef struct {
  size_t records, groups, families, targets, builds, faster;
  int64_t trials, oldest, newest;
  double log_ratio; /* sum */
} figures;

/* 1 if the text or key is new, else 0. It is recognised by its hash. */
static size_t new_text(neo_map *m, const void *p, size_t n, uint64_t kind) {
  uint64_t h = neo_hash(p, n, kind);
  bool known = neo_map_get(m, h, NULL);
  neo_map_set(m, h, 1);
  return !known;
}

static figures count(const neo_records *s, const bool *chosen) {
  figures f = {0};
  neo_map seen = neo_map_in(s->arena);
  for (size_t k = 0; k < s->all.n; k++) {
    const neo_record *r = &s->all.at[k];
    if (!chosen[k])
      continue;
    f.records++;
    f.groups += new_text(&seen, r->key, sizeof r->key, 1);
    f.families += new_text(&seen, r->family, sizeof r->family, 2);
    f.targets += new_text(&seen, r->target, strlen(r->target), 3);
    f.builds += new_text(&seen, r->build, strlen(r->build), 4);
    f.faster += neo_record_ratio(r) < 1;
    f.log_ratio += log(neo_record_ratio(r));
    f.trials += r->trials;
    if (r->when && (!f.oldest || r->when < f.oldest))
      f.oldest = r->when;
    f.newest = r->when > f.newest ? r->when : f.newest;
  }
  return f;
}

cache_exit neo_cache_stats(cache_cli *cli) {
  neo_records s;
  bool *chosen;
  neo_arena *a = cli->arena;
  cache_exit e = load_chosen(cli, &s, &chosen);
  if (e)
    return e;
  figures f = count(&s, chosen);
  double ratio = f.records ? exp(f.log_ratio / (double)f.records) : 1;
  if (cli->json) {
    neo_str out = neo_str_in(a);
    put_json_files(&out, &s);
    printf("{%s,\"records\":%zu,\"groups\":%zu,\"families\":%zu,\"targets\":%zu,\"compilers\":%zu,"
           "\"faster\":%zu,\"ratio\":%.6f,\"trials\":%" PRId64 ",\"ok\":true}\n",
           neo_str_text(&out), f.records, f.groups, f.families, f.targets, f.builds, f.faster,
           ratio, f.trials);
    return CACHE_OK;
  }
  printf("records    %zu, of %zu groups in %zu families\ntargets    %zu\ncompilers  %zu\n",
         f.records, f.groups, f.families, f.targets, f.builds);
  printf("trials     %" PRId64 "\nfaster     %zu than the default; all: %.3f of its time "
         "(geometric mean)\n",
         f.trials, f.faster, ratio);
  printf("dates      %s to %s\n", date(a, f.oldest, "%Y-%m-%d"), date(a, f.newest, "%Y-%m-%d"));
  return CACHE_OK;
}

/* ---- verify */

cache_exit neo_cache_verify(cache_cli *cli) {
  neo_records s;
  cache_exit e = cache_load(cli, 0, &s);
  if (e)
    return e;
  size_t damaged = 0;
  for (size_t k = 0; k < s.files.n; k++)
    damaged += s.files.at[k].bad_lines || s.files.at[k].torn_bytes;
  if (cli->json) {
    neo_str out = neo_str_in(cli->arena);
    put_json_files(&out, &s);
    printf("{%s,\"ok\":%s}\n", neo_str_text(&out), damaged ? "false" : "true");
  }
  for (size_t k = 0; !cli->json && k < s.files.n; k++) {
    const neo_records_file *f = &s.files.at[k];
    printf("%s: %zu record%s", f->path, f->records, f->records == 1 ? "" : "s");
    if (f->bad_lines)
      printf(", %zu damaged line%s", f->bad_lines, f->bad_lines == 1 ? "" : "s");
    if (f->torn_bytes)
      printf(", %zu bytes of an unfinished line", f->torn_bytes);
    puts(f->bad_lines || f->torn_bytes ? "" : ", no damage");
  }
  return damaged ? CACHE_FAILED : CACHE_OK;
}
