/* Turns a caller's request into options of the pipeline. */
#include "tools/cache/code.h"
#include "tools/library/build.h"
#include "tools/neoc/commands.h"
#include <stddef.h>
#include <string.h>

static const char nameless[] = "model.expr";

/* Copies a request. A caller that was compiled with an earlier header gives a shorter one. */
const char *neo_request_copy(const neo_request *given, neo_request *r) {
  size_t n = given && given->struct_size ? given->struct_size : sizeof *r;
  memset(r, 0, sizeof *r);
  if (n < offsetof(neo_request, records) || n > sizeof *r)
    return "the request is of another version";
  if (given)
    memcpy(r, given, n);
  return r->path || r->text ? NULL : "no model";
}

static bool read_emit(const char *text, unsigned *emit) {
  *emit = 0;
  for (const char *p = text; *p;) {
    size_t n = strcspn(p, ",");
    unsigned bit = neo_emit_of(p, n);
    if (!bit)
      return false;
    *emit |= bit;
    p += n + (p[n] == ',');
  }
  return true;
}

/* The request's folders, then those of its options, of which the shipped library is the last. */
static const char *const *import_paths(neo_arena *a, const neo_request *r,
                                       const char *const *others) {
  NEO_VEC(const char *) paths = {0};
  for (const char *const *p = r->import_paths; p && *p; p++)
    NEO_PUSH(a, &paths, *p);
  for (const char *const *p = others; p && *p; p++)
    NEO_PUSH(a, &paths, *p);
  NEO_PUSH(a, &paths, NULL);
  return paths.at;
}

static const char *read_records(neo_arena *a, const char *list, neo_compile_options *o) {
  bool shipped;
  const char *why = NULL;
  o->records = neo_records_sources(a, list, &shipped, &why);
  o->records_dir = o->records && shipped ? neo_place_records(a) : NULL;
  return o->records ? NULL : neo_arena_printf(a, "records: %s", why);
}

static const char *read_modules(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  neo_module_source *m = NEO_NEW_ARRAY(a, neo_module_source, r->n_modules + 1);
  for (int32_t k = 0; k < r->n_modules; k++) {
    const neo_module_text *t = &r->modules[k];
    if (!t->name || (!t->text && t->text_bytes))
      return "a module has no name, or no text";
    m[k] = (neo_module_source){t->name, t->text ? t->text : "", t->text_bytes};
  }
  o->modules = m;
  o->n_modules = r->n_modules;
  return NULL;
}

static const char *read_defines(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  NEO_VEC(neo_define_option) all = {0};
  for (int k = 0; k < o->n_defines; k++)
    NEO_PUSH(a, &all, o->defines[k]);
  for (int32_t k = 0; k < r->n_defines; k++) {
    for (size_t i = 0; i < all.n; i++)
      if (neo_streq(all.at[i].name, r->defines[k].name))
        return neo_arena_printf(a, "%s has two values", all.at[i].name);
    NEO_PUSH(a, &all, (neo_define_option){r->defines[k].name, r->defines[k].value});
  }
  o->defines = all.at;
  o->n_defines = (int)all.n;
  return NULL;
}

static int32_t count_names(const neo_request *r) {
  return r->names && r->n_names > 0 ? r->n_names : 0;
}

/* Concatenates the names of the options and those of the request, in this order. */
static void read_names(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  const int32_t n = count_names(r);
  neo_plan_name *all = NEO_NEW_ARRAY(a, neo_plan_name, n + o->n_names + 1);
  for (int k = 0; k < o->n_names; k++)
    all[k] = o->names[k];
  for (int32_t k = 0; k < n; k++)
    all[o->n_names + k] = (neo_plan_name){r->names[k].ident, r->names[k].name};
  o->names = all;
  o->n_names += n;
}

/* Sets the defaults that an empty list of options has. */
static neo_status read_nothing(neo_arena *a, neo_compile_options *o, const char **wrong) {
  const char **std = NEO_NEW_ARRAY(a, const char *, 2);
  std[0] = neo_place_std(a);
  o->import_paths = std;
  o->lib_dir = neo_place_lib(a);
  *wrong = read_records(a, NULL, o);
  return *wrong ? NEO_ARGUMENT : NEO_OK;
}

static void take_model(const neo_request *r, neo_compile_options *o) {
  o->path = r->path ? r->path : nameless;
  o->text = r->text;
  o->text_bytes = r->text_bytes;
  o->no_folder = r->text && !(r->path && strchr(r->path, '/'));
  o->progress = r->progress;
  o->progress_ctx = r->progress_ctx;
  o->cancel = r->cancel;
  o->passes.verify = false; /* the verifier serves developers of the compiler */
}

static void take_cache(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  if (!r->options && !r->cache)
    o->cache = neo_code_place(a);
  if (!r->cache)
    return;
  o->cache = neo_streq(r->cache, "none") ? NULL : r->cache;
  o->cache_named = true;
}

/* Copies the request's fields to the options; a field outweighs an option of the same meaning. */
static void take_fields(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  o->prefix = r->prefix ? r->prefix : o->prefix;
  o->out_dir = r->out_dir ? r->out_dir : o->out_dir;
  o->target = r->target ? r->target : o->target;
  o->mcpu = r->mcpu ? r->mcpu : o->mcpu;
  o->lib_dir = r->lib_dir ? r->lib_dir : o->lib_dir;
  o->runtime = r->static_runtime ? NEO_RUNTIME_STATIC : o->runtime;
  o->import_paths = import_paths(a, r, o->import_paths);
  take_cache(a, r, o);
}

/* ---- A request's options, read as those of `neoc compile`. */

/* Options of the program alone: how it prints, and what it does before it compiles. */
static const neoc_option programs_own[] = {NEOC_O_HELP, NEOC_O_FORMAT, NEOC_O_QUIET, NEOC_O_COLOUR,
                                           NEOC_O_TUNE};

static const char *refused(neo_arena *a, const neoc_cli *cli) {
  static const char *const names[] = {"help", "format", "quiet", "color", "tune"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (neoc_has(cli, programs_own[k]))
      return neo_arena_printf(a, "options: --%s is for the program neoc", names[k]);
  return NULL;
}

static neoc_exit read(neoc_cli *cli, const neo_request *r, const char *path,
                      neo_compile_options *o) {
  int n = 0;
  while (r->options && r->options[n])
    n++;
  char **words = NEO_NEW_ARRAY(cli->arena, char *, n + 1);
  for (int k = 0; k < n; k++)
    words[k] = (char *)(uintptr_t)r->options[k];
  neoc_exit e = neoc_options_read(cli, "compile", n, words);
  if (!e && cli->n_args)
    e = neoc_usage(cli, "'%s' is no option", cli->args[0]);
  if (!e)
    e = neoc_compile_options(cli, path, o);
  if (!e && neoc_has(cli, NEOC_O_EMIT))
    e = neoc_emit_options(cli, o);
  else if (!e && neoc_has(cli, NEOC_O_RUNTIME))
    e = neoc_emit_options(cli, o), o->emit = 0;
  return e;
}

static neo_status status_of(neoc_exit e) {
  switch (e) {
  case NEOC_OK:
    return NEO_OK;
  case NEOC_IO:
    return NEO_IO;
  case NEOC_DEVICE:
    return NEO_UNSUPPORTED;
  case NEOC_FAILED:
    return NEO_INPUT;
  default:
    return NEO_ARGUMENT;
  }
}

/* Parses the request's options, of which it has some. */
static neo_status options_read(neo_arena *a, const neo_request *r, const char *path,
                               neo_compile_options *o, const char **wrong) {
  neoc_cli *cli = NEO_NEW(a, neoc_cli); /* the options point to it */
  neo_str *told = NEO_NEW(a, neo_str);
  neo_str_init(told, a);
  *cli = (neoc_cli){.arena = a, .told = told};
  neo_status s = status_of(read(cli, r, path, o));
  *wrong = s ? neo_arena_printf(a, "options: %s", neo_str_text(told)) : refused(a, cli);
  return *wrong && !s ? NEO_ARGUMENT : s;
}

/* Replaces "nvptx:native" by the name of this machine's first GPU. */
static neo_status options_native(neo_arena *a, const char **target, const char **wrong) {
  neo_str told;
  neoc_cli cli = {.arena = a, .told = &told};
  neo_str_init(&told, a);
  neo_status s = status_of(neoc_native_gpu(&cli, target));
  *wrong = s ? neo_str_text(&told) : NULL;
  return s;
}

neo_status neo_request_read(neo_arena *a, const neo_request *r, const char *emit,
                            neo_compile_options *o, const char **wrong) {
  *o = (neo_compile_options){.on_fail = a->on_fail};
  take_model(r, o);
  neo_status s = r->options ? options_read(a, r, o->path, o, wrong) : read_nothing(a, o, wrong);
  if (s)
    return s;
  take_model(r, o);
  take_fields(a, r, o);
  if (r->target)
    s = options_native(a, &o->target, wrong);
  if (s)
    return s;
  if ((r->emit || !o->emit) && !read_emit(r->emit ? r->emit : emit, &o->emit))
    *wrong = "emit is a list of: so a o h ll s json ptx";
  if (!*wrong)
    *wrong = read_defines(a, r, o);
  if (!*wrong)
    *wrong = read_modules(a, r, o);
  read_names(a, r, o);
  if (!*wrong && r->records)
    *wrong = read_records(a, r->records, o);
  return *wrong ? NEO_ARGUMENT : NEO_OK;
}

/* ---- keeping */

static const char *keep_text(neo_arena *a, const char *text) {
  return text ? neo_arena_strdup(a, text) : NULL;
}

static const char *const *keep_texts(neo_arena *a, const char *const *texts) {
  NEO_VEC(const char *) kept = {0};
  if (!texts)
    return NULL;
  for (; *texts; texts++)
    NEO_PUSH(a, &kept, neo_arena_strdup(a, *texts));
  NEO_PUSH(a, &kept, NULL);
  return kept.at;
}

static const neo_define *keep_defines(neo_arena *a, const neo_request *r) {
  neo_define *d = NEO_NEW_ARRAY(a, neo_define, r->n_defines + 1);
  for (int32_t k = 0; k < r->n_defines; k++)
    d[k] = (neo_define){neo_arena_strdup(a, r->defines[k].name), r->defines[k].value};
  return d;
}

static const neo_name_pair *keep_names(neo_arena *a, const neo_request *r) {
  neo_name_pair *x = NEO_NEW_ARRAY(a, neo_name_pair, count_names(r) + 1);
  for (int32_t k = 0; k < count_names(r); k++)
    x[k] = (neo_name_pair){keep_text(a, r->names[k].ident), keep_text(a, r->names[k].name)};
  return x;
}

static const neo_module_text *keep_modules(neo_arena *a, const neo_request *r) {
  neo_module_text *m = NEO_NEW_ARRAY(a, neo_module_text, r->n_modules + 1);
  for (int32_t k = 0; k < r->n_modules; k++) {
    const neo_module_text *t = &r->modules[k];
    m[k] = (neo_module_text){neo_arena_strdup(a, t->name),
                             neo_arena_strndup(a, t->text, t->text_bytes), t->text_bytes};
  }
  return m;
}

void neo_request_keep(neo_arena *a, const neo_request *r, neo_request *out) {
  *out = *r;
  out->struct_size = sizeof *out;
  out->path = keep_text(a, r->path);
  out->import_paths = keep_texts(a, r->import_paths);
  out->defines = keep_defines(a, r);
  out->out_dir = keep_text(a, r->out_dir);
  out->prefix = keep_text(a, r->prefix);
  out->emit = keep_text(a, r->emit);
  out->target = keep_text(a, r->target);
  out->mcpu = keep_text(a, r->mcpu);
  out->lib_dir = keep_text(a, r->lib_dir);
  out->records = keep_text(a, r->records);
  out->text = r->text ? neo_arena_strndup(a, r->text, r->text_bytes) : NULL;
  out->modules = keep_modules(a, r);
  out->names = keep_names(a, r);
  out->options = keep_texts(a, r->options);
  out->cache = keep_text(a, r->cache);
  out->cancel = NULL;
  out->progress = NULL;
}
