/* The command line's options as the pipeline takes them. */
#include "base/clock.h"
#include "base/file.h"
#include "base/machine_text.h"
#include "codegen/llvm/target.h"
#include "tools/cache/code.h"
#include "tools/neoc/cli/renamed.h"
#include "tools/neoc/neoc.h"
#include <string.h>
#include <unistd.h>

static neoc_exit read_defines(neoc_cli *cli, neo_compile_options *o) {
  const neoc_texts *given = &cli->value[NEOC_O_DEFINE];
  neo_define_option *d = NEO_NEW_ARRAY(cli->arena, neo_define_option, given->n + 1);
  neoc_exit e = neoc_pairs_differ(cli, "-D ", *given);
  if (e)
    return e;
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

static neoc_exit read_names(neoc_cli *cli, neo_compile_options *o) {
  const neoc_texts *given = &cli->value[NEOC_O_NAME];
  neo_plan_name *x = NEO_NEW_ARRAY(cli->arena, neo_plan_name, given->n + 1);
  for (size_t k = 0; k < given->n; k++) {
    x[k].ident = neoc_pair(cli, given->at[k], &x[k].name);
    if (!x[k].ident)
      return neoc_usage(cli, "--name takes IDENTIFIER=NAME, not '%s'", given->at[k]);
  }
  o->names = x;
  o->n_names = (int)given->n;
  return NEOC_OK;
}

static neoc_exit read_import_paths(neoc_cli *cli, neo_compile_options *o) {
  neoc_texts paths = {0};
  for (size_t k = 0; k < cli->value[NEOC_O_INCLUDE].n; k++) {
    const char *path = cli->value[NEOC_O_INCLUDE].at[k];
    if (!neo_path_is_folder(path))
      return neoc_fail(cli, NEOC_IO, "--include=%s is no folder", path);
    NEO_PUSH(cli->arena, &paths, path);
  }
  const char *std = neo_place_std(cli->arena);
  if (std)
    NEO_PUSH(cli->arena, &paths, std);
  NEO_PUSH(cli->arena, &paths, NULL);
  o->import_paths = paths.at;
  return NEOC_OK;
}

/* ---- fusion, memory */

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

static neoc_exit read_memory(neoc_cli *cli, neo_compile_options *o) {
  const char *text = neoc_text(cli, NEOC_O_MEMORY, "fast");
  int64_t bytes = 0;
  bool fast = neo_streq(text, "fast"), small = neo_streq(text, "small");
  bool is_size = neoc_parse_bytes(text, &bytes) && bytes > 0;
  o->fusion.memory = fast ? NEO_FUSE_FAST : small ? NEO_FUSE_SMALL : bytes;
  if (!fast && !small && !is_size)
    return neoc_usage(cli, "--memory takes fast, small or a number of bytes, not '%s'", text);
  return read_kinds(cli, o);
}

/* Checks the files of records. Not every command gets as far as reading records or choosing a
 * target, but all report errors. */
static neoc_exit check_records(neoc_cli *cli, const neo_records_source *source) {
  neo_records all;
  neo_records_init(&all, cli->arena);
  for (; source->path; source++) {
    const char *why = NULL;
    neo_status s = neo_records_load(&all, &neo_io_default, source->path, source->flags, &why);
    if (s && !source->optional)
      return neoc_fail(cli, neoc_exit_of(s), "%s", why);
  }
  return NEOC_OK;
}

static neoc_exit check_target(neoc_cli *cli, const neo_compile_options *o) {
  neo_target target;
  const char *why = NULL;
  neo_status s = NEO_OK;
  if (o->target || o->mcpu)
    s = neo_target_choose(cli->arena, o->target, o->mcpu, &target, &why);
  return s ? neoc_fail(cli, neoc_exit_of(s), "%s", why) : NEOC_OK;
}

static neoc_exit read_records(neoc_cli *cli, neo_compile_options *o) {
  bool shipped;
  const char *why = NULL;
  const char *list = neoc_text(cli, NEOC_O_RECORDS, NULL);
  o->records = neo_records_sources(cli->arena, list, &shipped, &why);
  if (shipped)
    o->records_dir = neo_place_records(cli->arena);
  return o->records ? check_records(cli, o->records)
                    : neoc_usage(cli, "--records=%s: %s", list, why);
}

static neoc_exit read_profile(neoc_cli *cli, neo_compile_options *o) {
  enum { LARGEST = 1 << 16 };
  const char *path = neoc_text(cli, NEOC_O_PROFILE, NULL);
  char *text;
  size_t n;
  neo_str why = neo_str_in(cli->arena);
  if (!path)
    return NEOC_OK;
  if (neo_file_read(&neo_io_default, cli->arena, path, LARGEST, &text, &n))
    return neoc_fail(cli, NEOC_IO, "--profile=%s cannot be read", path);
  neo_machine *m = NEO_NEW(cli->arena, neo_machine);
  if (!neo_machine_parse(text, n, m, &why))
    return neoc_fail(cli, NEOC_FAILED, "%s, %s", path, neo_str_text(&why));
  o->machine = m;
  return NEOC_OK;
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

/* Reads the options of the code cache. Commands that check compiled code have none, and always
 * compile. */
static void read_cache(neoc_cli *cli, neo_compile_options *o) {
  static const char *const words[] = {"compile", "run", "train", "tune", "explain"};
  const char *folder = neoc_text(cli, NEOC_O_CACHE, NULL);
  bool has = false;
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    has = has || neo_streq(cli->command->name, words[k]);
  o->cache_named = folder != NULL;
  o->cache = folder ? folder : has ? neo_code_place(cli->arena) : NULL;
  if (folder && neo_streq(folder, "none"))
    o->cache = NULL;
}

/* ---- The progress of a long compilation, in one line of a terminal:
 *
 *   12 s  schedules and kernels 120 of 340
 *
 * The line is erased before anything else is printed. */

static const double patience = 3, interval = 0.2; /* seconds */

static void show(void *ctx, const char *what, size_t done, size_t of) {
  neoc_progress *p = ctx;
  double at = neo_now_s();
  if (at - p->begun < patience || at - p->shown < interval)
    return;
  p->shown = at;
  fprintf(stderr, "\r%.0f s  %s", at - p->begun, what);
  if (of)
    fprintf(stderr, " %zu of %zu", done, of);
  else
    fputs(" done", stderr);
  fputs("\033[K", stderr);
}

/* Shows the progress of a compilation in one line of a terminal, after some seconds. */
static void progress_begin(neoc_cli *cli, neo_compile_options *o) {
  if (cli->told || !isatty(2) || neoc_has(cli, NEOC_O_QUIET))
    return;
  cli->progress = NEO_NEW(cli->arena, neoc_progress);
  cli->progress->begun = neo_now_s();
  o->progress = show;
  o->progress_ctx = cli->progress;
}

neoc_exit neoc_compile_options(neoc_cli *cli, const char *path, neo_compile_options *out) {
  neo_compile_options o = {.path = path, .on_fail = cli->arena->on_fail};
  progress_begin(cli, &o);
  o.prefix = neoc_text(cli, NEOC_O_PREFIX, NULL);
  o.unseen = !neo_streq(cli->command->name, "compile");
  o.out_dir = neoc_text(cli, NEOC_O_OUTPUT, NULL);
  o.target = neoc_text(cli, NEOC_O_TARGET, NULL);
  o.mcpu = neoc_text(cli, NEOC_O_MCPU, NULL);
  o.depfile = neoc_text(cli, NEOC_O_DEPFILE, NULL);
  o.lib_dir = neo_place_lib(cli->arena);
  o.reassociate = neoc_has(cli, NEOC_O_REASSOCIATE);
  o.pure = neoc_has(cli, NEOC_O_PURE);
  o.network = neoc_has(cli, NEOC_O_NETWORK);
  read_cache(cli, &o);
  const char *batches = neoc_text(cli, NEOC_O_BATCHES, "level");
  o.batch_kinds = neo_streq(batches, "kind");
  if (!o.batch_kinds && !neo_streq(batches, "level"))
    return neoc_usage(cli, "--batches is level or kind, not '%s'", batches);
  neoc_exit e = neoc_native_gpu(cli, &o.target);
  o.proof_quota = (uint64_t)neoc_int(cli, NEOC_O_PROOF_QUOTA, 0, 1, &e);
  o.unroll = neoc_int(cli, NEOC_O_UNROLL, 0, 1, &e);
  o.network_nodes = (uint32_t)neoc_count(cli, NEOC_O_NODES, 0, 1, &e);
  if (!e && o.network_nodes && !o.network)
    return neoc_usage(cli, "--nodes is of --network");
  if (!e)
    e = read_import_paths(cli, &o);
  if (!e)
    e = check_target(cli, &o);
  if (!e)
    e = read_memory(cli, &o);
  if (!e)
    e = read_precision(cli, NEOC_O_MATH, "math", &o.math);
  if (!e)
    e = read_precision(cli, NEOC_O_STORE, "store", &o.store);
  if (!e)
    e = read_defines(cli, &o);
  if (!e)
    e = read_names(cli, &o);
  if (!e)
    e = neoc_pass_options(cli, &o);
  if (!e)
    e = read_profile(cli, &o);
  if (!e)
    e = read_records(cli, &o);
  *out = o;
  return e;
}

neoc_exit neoc_emit_options(neoc_cli *cli, neo_compile_options *o) {
  neoc_texts words = neoc_words(cli, NEOC_O_EMIT);
  bool ptx = neo_target_has_ptx(o->target);
  if (!words.n)
    o->emit = NEO_EMIT_SO | NEO_EMIT_HEADER | (ptx ? NEO_EMIT_PTX : 0U);
  for (size_t k = 0; k < words.n; k++) {
    unsigned bit = neo_emit_of(words.at[k], strlen(words.at[k]));
    if (!bit || (bit == NEO_EMIT_CODE && !cli->told)) /* for libneo */
      return neoc_usage(cli, "--emit: '%s' is none of so a o h ll s json ptx", words.at[k]);
    if (bit == NEO_EMIT_PTX && !ptx)
      return neoc_usage(cli, "--emit=ptx is for a GPU: add --target=nvptx:sm_90a, or another");
    o->emit |= bit;
  }
  const char *runtime = neoc_text(cli, NEOC_O_RUNTIME, "shared");
  o->runtime = neo_streq(runtime, "static") ? NEO_RUNTIME_STATIC : NEO_RUNTIME_SHARED;
  if (o->runtime == NEO_RUNTIME_SHARED && !neo_streq(runtime, "shared"))
    return neoc_usage(cli, "--runtime is shared or static, not '%s'", runtime);
  return NEOC_OK;
}
