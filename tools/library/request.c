/* What a caller asks for, as the options of the pipeline. */
#include "tools/library/build.h"
#include <stddef.h>
#include <string.h>

/* A caller that was compiled with an earlier header has a shorter request. */
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

static const char *const *import_paths(neo_arena *a, const neo_request *r) {
  NEO_VEC(const char *) paths = {0};
  for (const char *const *p = r->import_paths; p && *p; p++)
    NEO_PUSH(a, &paths, *p);
  const char *std = neo_place_std(a);
  if (std)
    NEO_PUSH(a, &paths, std);
  NEO_PUSH(a, &paths, NULL);
  return paths.at;
}

static const char *read_records(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  bool shipped;
  const char *why = NULL;
  o->records = neo_records_sources(a, r->records, &shipped, &why);
  if (o->records && shipped)
    o->records_dir = neo_place_records(a);
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

static void read_defines(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  neo_define_option *d = NEO_NEW_ARRAY(a, neo_define_option, r->n_defines + 1);
  for (int32_t k = 0; k < r->n_defines; k++)
    d[k] = (neo_define_option){r->defines[k].name, r->defines[k].value};
  o->defines = d;
  o->n_defines = r->n_defines;
}

const char *neo_request_read(neo_arena *a, const neo_request *r, const char *emit,
                             neo_compile_options *o) {
  *o = (neo_compile_options){.path = r->path ? r->path : "model.expr",
                             .text = r->text,
                             .text_bytes = r->text_bytes,
                             .no_folder = r->text && !(r->path && strchr(r->path, '/')),
                             .prefix = r->prefix,
                             .out_dir = r->out_dir,
                             .target = r->target,
                             .mcpu = r->mcpu,
                             .progress = r->progress,
                             .progress_ctx = r->progress_ctx,
                             .cancel = r->cancel,
                             .on_fail = a->on_fail};
  if (!read_emit(r->emit ? r->emit : emit, &o->emit))
    return "emit is a list of: so a o h ll s json";
  read_defines(a, r, o);
  o->import_paths = import_paths(a, r);
  o->runtime = r->static_runtime ? NEO_RUNTIME_STATIC : NEO_RUNTIME_SHARED;
  o->lib_dir = r->lib_dir ? r->lib_dir : neo_place_lib(a);
  const char *wrong = read_modules(a, r, o);
  return wrong ? wrong : read_records(a, r, o);
}
