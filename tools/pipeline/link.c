/* Makes shared library and archive from the objects, in the temporary folder.
 *
 * The linker is the system's C compiler ($CC, else cc; for another architecture the cross compiler
 * of its name), the archiver ar; both get options that leave no trace of time or place.
 *
 * An archive with libneort inside is one object: the model's parts and libneort linked together,
 * after which objcopy hides all names but the model's own. So such archives link alone, and any
 * number of them into one program, whatever versions of libneort they have. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "tools/pipeline/emit.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  neo_compilation *c;
  NEO_VEC(const char *) objects; /* their files */
} linker;

static neo_status run_tool(neo_compilation *c, const char *const *argv) {
  char *output;
  neo_status s = neo_spawn(&c->arena, argv, &output);
  if (s)
    c->why = neo_arena_printf(&c->arena, "%s failed (see `neoc doctor`): %s", argv[0], output);
  return s;
}

static const char *compiler(neo_compilation *c) {
  const char *cc = secure_getenv("CC");
  if (cc && *cc && !strchr(cc, ' '))
    return cc;
  size_t arch = strcspn(c->host.triple, "-");
  return c->host.is_host_arch
             ? "cc"
             : neo_arena_printf(&c->arena, "%.*s-linux-gnu-gcc", (int)arch, c->host.triple);
}

/* A tool of binutils for the target. */
static const char *binutil(neo_compilation *c, const char *name) {
  size_t arch = strcspn(c->host.triple, "-");
  return c->host.is_host_arch
             ? name
             : neo_arena_printf(&c->arena, "%.*s-linux-gnu-%s", (int)arch, c->host.triple, name);
}

/* The libraries that the model's library is linked with. */
static void add_libraries(neo_compilation *c, const char **argv, size_t *n) {
  neo_runtime_kind runtime = c->options.runtime;
  if (c->options.lib_dir && runtime != NEO_RUNTIME_NONE)
    argv[(*n)++] = neo_arena_printf(&c->arena, "-L%s", c->options.lib_dir);
  if (runtime == NEO_RUNTIME_SHARED) {
    argv[(*n)++] = "-Wl,--no-as-needed";
    argv[(*n)++] = "-lneort";
  }
  if (runtime == NEO_RUNTIME_STATIC) {
    argv[(*n)++] = "-l:libneort.a";
    argv[(*n)++] = "-Wl,--exclude-libs,libneort.a";
    argv[(*n)++] = "-pthread";
  }
  argv[(*n)++] = "-Wl,--as-needed";
  argv[(*n)++] = "-lm";
}

static size_t add_objects(const linker *l, const char **argv, size_t n) {
  for (size_t k = 0; k < l->objects.n; k++)
    argv[n++] = l->objects.at[k];
  return n;
}

static neo_status link_shared(const linker *l) {
  neo_compilation *c = l->c;
  const char **argv = NEO_NEW_ARRAY(&c->arena, const char *, l->objects.n + 24);
  size_t n = 0;
  argv[n++] = compiler(c);
  argv[n++] = "-shared";
  argv[n++] = "-o";
  argv[n++] = neo_emit_staged(c, "lib", ".so");
  n = add_objects(l, argv, n);
  argv[n++] = "-Wl,--build-id=none";
  argv[n++] = neo_arena_printf(&c->arena, "-Wl,-soname,lib%s.so", c->prefix);
  argv[n++] = c->options.runtime == NEO_RUNTIME_NONE ? "-Wl,-z,lazy" : "-Wl,-z,now";
  add_libraries(c, argv, &n);
  return run_tool(c, argv);
}

/* The parts and libneort as one object. */
static neo_status merge_runtime(const linker *l, const char *to) {
  neo_compilation *c = l->c;
  const char **argv = NEO_NEW_ARRAY(&c->arena, const char *, l->objects.n + 12);
  size_t n = 0;
  argv[n++] = compiler(c);
  argv[n++] = "-r";
  argv[n++] = "-nostdlib";
  argv[n++] = "-Wl,--build-id=none";
  argv[n++] = "-o";
  argv[n++] = to;
  n = add_objects(l, argv, n);
  if (c->options.lib_dir)
    argv[n++] = neo_arena_printf(&c->arena, "-L%s", c->options.lib_dir);
  argv[n++] = "-l:libneort.a";
  return run_tool(c, argv);
}

static neo_status hide_runtime(const linker *l, const char *object) {
  neo_compilation *c = l->c;
  const char *own = neo_arena_printf(&c->arena, "--keep-global-symbol=%s_*", c->prefix);
  const char *const argv[] = {binutil(c, "objcopy"), "--wildcard", own, object, NULL};
  return run_tool(c, argv);
}

static neo_status archive(const linker *l) {
  neo_compilation *c = l->c;
  bool whole = c->options.runtime == NEO_RUNTIME_STATIC;
  const char **argv = NEO_NEW_ARRAY(&c->arena, const char *, l->objects.n + 5);
  argv[0] = "ar";
  argv[1] = "rcsD";
  argv[2] = neo_emit_staged(c, "lib", ".a");
  if (!whole) {
    add_objects(l, argv, 3);
    return run_tool(c, argv);
  }
  argv[3] = neo_emit_staged(c, "", "_whole.o");
  neo_status s = merge_runtime(l, argv[3]);
  if (!s)
    s = hide_runtime(l, argv[3]);
  return s ? s : run_tool(c, argv);
}

static neo_status write_objects(linker *l) {
  neo_compilation *c = l->c;
  neo_status s = NEO_OK;
  for (size_t k = 0; !s && k < c->objects.n; k++) {
    const char *path = neo_emit_staged(c, "", neo_arena_printf(&c->arena, ".%zu.o", k));
    NEO_PUSH(&c->arena, &l->objects, path);
    s = neo_emit_write(c, path, c->objects.at[k].data, c->objects.at[k].size_bytes);
  }
  return s;
}

static neo_status make(linker *l) {
  neo_compilation *c = l->c;
  neo_status s = write_objects(l);
  if (!s && (c->options.emit & NEO_EMIT_SO))
    s = link_shared(l);
  if (!s && (c->options.emit & NEO_EMIT_A))
    s = archive(l);
  return s;
}

neo_status neo_emit_binaries(neo_compilation *c) {
  linker l = {.c = c};
  if (!(c->options.emit & (NEO_EMIT_SO | NEO_EMIT_A)))
    return NEO_OK;
  return make(&l);
}
