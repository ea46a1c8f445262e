/* The public compiler API (include/neo/neo.h), thin over the pipeline. */
#include "base/float_mode.h"
#include "include/neo/neo.h"
#include "tools/pipeline/compile.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Given out where there is no memory for a message; never written to. */
static const char no_memory[] = "out of memory\n";

static char *no_memory_text(void) {
  return (char *)(uintptr_t)no_memory;
}

static char *take_text(const char *text, size_t n) {
  char *copy = malloc(n + 1);
  if (!copy)
    return no_memory_text();
  memcpy(copy, text, n);
  copy[n] = 0;
  return copy;
}

void neo_messages_free(char *messages) {
  if (messages != no_memory)
    free(messages);
}

const char *neo_version(void) {
  return NEO_VERSION;
}

/* ---- the request */

static bool read_emit(const char *text, unsigned *emit) {
  *emit = 0;
  for (const char *p = text ? text : "so,h"; *p;) {
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

/* A caller that was compiled with an earlier header has a shorter request. */
static const char *copy_request(const neo_request *given, neo_request *r) {
  size_t n = given && given->struct_size ? given->struct_size : sizeof *r;
  memset(r, 0, sizeof *r);
  if (n < offsetof(neo_request, records) || n > sizeof *r)
    return "the request is of another version";
  if (given)
    memcpy(r, given, n);
  return r->path ? NULL : "no model";
}

static const char *read_records(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  bool shipped;
  const char *why = NULL;
  o->records = neo_records_sources(a, r->records, &shipped, &why);
  if (o->records && shipped)
    o->records_dir = neo_place_records(a);
  return o->records ? NULL : neo_arena_printf(a, "records: %s", why);
}

static const char *read_request(neo_arena *a, const neo_request *r, neo_compile_options *o) {
  *o = (neo_compile_options){.path = r->path,
                             .prefix = r->prefix,
                             .out_dir = r->out_dir,
                             .target = r->target,
                             .mcpu = r->mcpu,
                             .n_defines = r->n_defines};
  if (!read_emit(r->emit, &o->emit))
    return "emit is a list of: so a o h ll s json";
  o->on_fail = a->on_fail;
  neo_define_option *d = NEO_NEW_ARRAY(a, neo_define_option, r->n_defines + 1);
  for (int32_t k = 0; k < r->n_defines; k++)
    d[k] = (neo_define_option){r->defines[k].name, r->defines[k].value};
  o->defines = d;
  o->import_paths = import_paths(a, r);
  o->runtime = r->static_runtime ? NEO_RUNTIME_STATIC : NEO_RUNTIME_SHARED;
  o->lib_dir = r->lib_dir ? r->lib_dir : neo_place_lib(a);
  return read_records(a, r, o);
}

/* ---- running */

static void put_messages(neo_arena *a, neo_compilation *c, neo_status s, bool json, char **out) {
  neo_str text;
  neo_str_init(&text, a);
  if (json && c->diags)
    neo_diags_print_json(c->diags, &text);
  else if (c->diags)
    neo_diags_print(c->diags, &text, false);
  if (s && c->why && !json)
    neo_str_addf(&text, "neo: %s\n", c->why);
  *out = take_text(neo_str_text(&text), text.n);
}

static neo_status run(const neo_request *given, bool emit, char **messages) {
  neo_arena a;
  neo_request request;
  const neo_request *r = &request;
  jmp_buf out_of_memory;
  neo_compile_options o;
  neo_compilation c;
  neo_arena_init(&a, neo_alloc_default, &out_of_memory);
  memset(&c, 0, sizeof c);
  if (setjmp(out_of_memory)) {
    neo_compilation_free(&c);
    neo_arena_free(&a);
    *messages = no_memory_text();
    return NEO_MEMORY;
  }
  const char *wrong = copy_request(given, &request);
  if (!wrong)
    wrong = read_request(&a, r, &o);
  if (wrong) {
    *messages = take_text(wrong, strlen(wrong));
    neo_arena_free(&a);
    return NEO_ARGUMENT;
  }
  neo_compilation_init(&c, &o);
  neo_status s = emit ? neo_compile_plan(&c) : neo_compile_front(&c);
  if (!s)
    s = emit ? neo_compile_emit(&c) : neo_compile_passes(&c);
  put_messages(&a, &c, s, r->json != 0, messages);
  neo_compilation_free(&c);
  neo_arena_free(&a);
  return s;
}

static int32_t run_with(const neo_request *r, bool emit, char **messages) {
  char *text = NULL;
  neo_float_mode before = neo_float_mode_enter(); /* constants are folded in it */
  neo_status s = run(r, emit, &text);
  neo_float_mode_leave(before);
  if (messages)
    *messages = text;
  else
    neo_messages_free(text);
  return (int32_t)s;
}

int32_t neo_compile(const neo_request *request, char **messages) {
  return run_with(request, true, messages);
}

int32_t neo_check(const neo_request *request, char **messages) {
  return run_with(request, false, messages);
}
