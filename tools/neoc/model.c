/* The command line's options as the pipeline takes them. */
#include "ir/print.h"
#include "tools/neoc/neoc.h"
#include "tools/neoc/renamed.h"
#include <stdlib.h>
#include <string.h>

bool neoc_ends_with(const char *text, const char *end) {
  size_t n = strlen(text), m = strlen(end);
  return n >= m && memcmp(text + n - m, end, m) == 0;
}

static neoc_exit read_defines(neoc_cli *cli, neo_compile_options *o) {
  const neoc_texts *given = &cli->value[NEOC_O_DEFINE];
  neo_define_option *d = NEO_NEW_ARRAY(cli->arena, neo_define_option, given->n + 1);
  for (size_t k = 0; k < given->n; k++) {
    const char *value = NULL;
    d[k].name = neoc_pair(cli, given->at[k], &value);
    if (!d[k].name || !neoc_parse_int(value, &d[k].value))
      return neoc_usage(cli, "-D takes NAME=NUMBER, not '%s'", given->at[k]);
  }
  o->defines = d;
  o->n_defines = (int)given->n;
  return NEOC_OK;
}

static const char *const *import_paths(neoc_cli *cli) {
  neoc_texts paths = {0};
  for (size_t k = 0; k < cli->value[NEOC_O_INCLUDE].n; k++)
    NEO_PUSH(cli->arena, &paths, cli->value[NEOC_O_INCLUDE].at[k]);
  const char *std = neo_place_std(cli->arena);
  if (std)
    NEO_PUSH(cli->arena, &paths, std);
  NEO_PUSH(cli->arena, &paths, NULL);
  return paths.at;
}

/* ---- passes */

static const neo_pass *find_pass(const char *name) {
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  for (size_t k = 0; k < n; k++)
    if (neo_streq(p[k].name, name))
      return &p[k];
  return NULL;
}

/* The nearest name, or null: none is near. */
static const char *nearest_pass(const char *name) {
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  const char *best = NULL;
  for (size_t k = 0, least = 3; k < n; k++) {
    size_t d = (size_t)neo_str_distance(name, p[k].name, 2);
    if (d < least && 2 * d < strlen(name))
      least = d, best = p[k].name;
  }
  return best;
}

neoc_exit neoc_pass_check(const neoc_cli *cli, const char *option, const char *name,
                          const char *other) {
  size_t n;
  neo_str s;
  const neo_pass *p = neo_compile_pass_table(&n);
  const char *near = nearest_pass(name);
  const char *now = neoc_renamed_to(NEOC_RENAMED_PASS, name);
  if (find_pass(name) || (other && neo_streq(name, other)))
    return NEOC_OK;
  if (now)
    return neoc_usage(cli, "--%s: the pass '%s' is called '%s' now", option, name, now);
  neo_str_init(&s, cli->arena);
  neo_str_add(&s, other ? other : "");
  for (size_t k = 0; k < n; k++)
    neo_str_addf(&s, "%s%s", s.n ? ", " : "", p[k].name);
  if (near)
    return neoc_usage(cli, "--%s: there is no pass '%s' (did you mean '%s'?): they are %s", option,
                      name, near, neo_str_text(&s));
  return neoc_usage(cli, "--%s: there is no pass '%s': they are %s", option, name,
                    neo_str_text(&s));
}

static bool in(neoc_texts list, const char *word) {
  for (size_t k = 0; k < list.n; k++)
    if (neo_streq(list.at[k], word))
      return true;
  return false;
}

static neoc_exit read_skips(neoc_cli *cli, neo_compile_options *o) {
  neoc_texts skip = neoc_words(cli, NEOC_O_SKIP_PASS), only = neoc_words(cli, NEOC_O_PASSES);
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; k < skip.n && !e; k++) {
    e = neoc_pass_check(cli, "skip-pass", skip.at[k], NULL);
    if (!e && find_pass(skip.at[k])->required)
      e = neoc_usage(cli, "pass '%s' cannot be left out", skip.at[k]);
  }
  for (size_t k = 0; k < only.n && !e; k++)
    e = neoc_pass_check(cli, "passes", only.at[k], NULL);
  if (e)
    return e;
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  for (size_t k = 0; k < n && neoc_has(cli, NEOC_O_PASSES); k++)
    if (!p[k].required && !in(only, p[k].name))
      NEO_PUSH(cli->arena, &skip, p[k].name);
  NEO_PUSH(cli->arena, &skip, NULL);
  o->passes.skip = skip.at;
  return NEOC_OK;
}

static void dump(void *ctx, const char *pass, const neo_module *m, bool changed) {
  neo_str s;
  neo_str_init(&s, ((neoc_cli *)ctx)->arena);
  if (changed)
    neo_module_print(m, &s);
  fprintf(stderr, "# after %s%s\n%s", pass, changed ? "" : ": nothing changed", neo_str_text(&s));
}

static neoc_exit read_passes(neoc_cli *cli, neo_compile_options *o) {
  const char *after = neoc_text(cli, NEOC_O_DUMP_AFTER, NULL);
  o->passes.verify = !neoc_has(cli, NEOC_O_NO_VERIFY);
  neoc_exit e = after ? neoc_pass_check(cli, "dump-after", after, "all") : NEOC_OK;
  if (e)
    return e;
  o->passes.dump_after = after;
  o->passes.dump = dump;
  o->passes.dump_ctx = cli;
  return read_skips(cli, o);
}

static neoc_exit read_kinds(neoc_cli *cli, neo_compile_options *o) {
  neoc_texts off = neoc_words(cli, NEOC_O_NO_FUSE);
  for (size_t k = 0; k < off.n; k++) {
    uint32_t bits = neo_streq(off.at[k], "all") ? (1u << NEO_FUSE_KINDS) - 1 : 0;
    for (int i = 0; i < NEO_FUSE_KINDS; i++)
      bits |= neo_streq(off.at[k], neo_fuse_kind_text((neo_fuse_kind)i)) ? 1u << i : 0;
    const char *now = bits ? NULL : neoc_renamed_to(NEOC_RENAMED_FUSION, off.at[k]);
    if (now)
      return neoc_usage(cli, "--no-fuse: the kind '%s' is called '%s' now", off.at[k], now);
    if (!bits)
      return neoc_usage(cli, "--no-fuse: there is no kind of fusion '%s'", off.at[k]);
    o->fusion.off |= bits;
  }
  return NEOC_OK;
}

/* "64K", "3G": bytes; -1: not such a text. */
static int64_t parse_bytes(const char *text) {
  char *end;
  int64_t n = strtoll(text, &end, 10), unit = 1;
  if (end == text || n < 1 || n > INT64_MAX >> 31)
    return -1;
  for (const char *c = "KMG"; *c; c++) {
    unit *= 1024;
    if (*end == *c && !end[1])
      return n * unit;
  }
  return *end ? -1 : n;
}

static neoc_exit read_memory(neoc_cli *cli, neo_compile_options *o) {
  const char *text = neoc_text(cli, NEOC_O_MEMORY, "fast");
  o->fusion.memory = neo_streq(text, "fast")    ? NEO_FUSE_FAST
                     : neo_streq(text, "small") ? NEO_FUSE_SMALL
                                                : parse_bytes(text);
  if (o->fusion.memory == -1 && !neo_streq(text, "small"))
    return neoc_usage(cli, "--memory takes fast, small or a number of bytes, not '%s'", text);
  return read_kinds(cli, o);
}

static neoc_exit read_records(neoc_cli *cli, neo_compile_options *o) {
  bool shipped;
  const char *why = NULL;
  const char *list = neoc_text(cli, NEOC_O_RECORDS, NULL);
  o->records = neo_records_sources(cli->arena, list, &shipped, &why);
  if (shipped)
    o->records_dir = neo_place_records(cli->arena);
  return o->records ? NEOC_OK : neoc_usage(cli, "--records=%s: %s", list, why);
}

static neoc_exit read_precision(neoc_cli *cli, neoc_option option, const char *name,
                                neo_precision *out) {
  const char *text = neoc_text(cli, option, "f32");
  bool narrow = neo_streq(text, "bf16"), math = option == NEOC_O_MATH;
  bool tf32 = math && neo_streq(text, "tf32"), three = math && neo_streq(text, "3xtf32");
  *out = narrow  ? NEO_PRECISION_BF16
         : tf32  ? NEO_PRECISION_TF32
         : three ? NEO_PRECISION_3XTF32
                 : NEO_PRECISION_F32;
  if (*out != NEO_PRECISION_F32 || neo_streq(text, "f32") || neo_streq(text, "default"))
    return NEOC_OK;
  return neoc_usage(cli, "--%s=%s is not available on this target: f32%s bf16 are", name, text,
                    math ? ", 3xtf32, tf32 and" : " and");
}

neoc_exit neoc_compile_options(neoc_cli *cli, const char *path, neo_compile_options *out) {
  neo_compile_options o = {.path = path, .on_fail = cli->arena->on_fail};
  o.import_paths = import_paths(cli);
  o.prefix = neoc_text(cli, NEOC_O_PREFIX, NULL);
  o.out_dir = neoc_text(cli, NEOC_O_OUTPUT, NULL);
  o.target = neoc_text(cli, NEOC_O_TARGET, NULL);
  o.mcpu = neoc_text(cli, NEOC_O_MCPU, NULL);
  o.depfile = neoc_text(cli, NEOC_O_DEPFILE, NULL);
  o.lib_dir = neo_place_lib(cli->arena);
  neoc_exit e = neoc_native_gpu(cli, &o.target);
  o.proof_quota = (uint64_t)neoc_int(cli, NEOC_O_PROOF_QUOTA, 0, 1, &e);
  if (!e)
    e = read_memory(cli, &o);
  if (!e)
    e = read_precision(cli, NEOC_O_MATH, "math", &o.math);
  if (!e)
    e = read_precision(cli, NEOC_O_STORE, "store", &o.store);
  if (!e)
    e = read_defines(cli, &o);
  if (!e)
    e = read_passes(cli, &o);
  if (!e)
    e = read_records(cli, &o);
  *out = o;
  return e;
}
