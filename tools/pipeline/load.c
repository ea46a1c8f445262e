/* Compiled models in this process. The library is linked without libneort: its kernels need only
 * libm, and the thin entries, which do call libneort, are never called; lazy binding leaves them
 * unresolved. */
#include "base/temp.h"
#include "tools/pipeline/network.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

static const char *prefix_of_path(neo_arena *a, const char *path) {
  const char *stem = neo_path_stem(a, path);
  return strncmp(stem, "lib", 3) == 0 ? stem + 3 : stem;
}

/* Opens a library. One that was made to be linked names libneort.so.0, which the loader may not
 * find: ours, beside this program, satisfies it, and stays open. */
static void *open_with_runtime(neo_arena *a, const char *path) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  const char *folder = handle ? NULL : neo_place_lib(a);
  if (!folder)
    return handle;
  if (!dlopen(neo_path_join(a, folder, "libneort.so"), RTLD_LAZY | RTLD_LOCAL))
    return NULL;
  return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

neo_status neo_library_open(neo_arena *a, const char *path, const char *prefix, neo_library *out,
                            const char **why) {
  const char *full = strchr(path, '/') ? path : neo_arena_printf(a, "./%s", path);
  *out = (neo_library){0};
  out->handle = open_with_runtime(a, full);
  if (!out->handle) {
    *why = neo_arena_printf(a, "%s", dlerror());
    return neo_path_exists(path) ? NEO_FORMAT : NEO_IO;
  }
  if (!prefix)
    prefix = prefix_of_path(a, path);
  out->model = dlsym(out->handle, neo_arena_printf(a, "%s_model", prefix));
  if (out->model && out->model->abi == NEO_RT_ABI)
    return NEO_OK;
  *why = out->model
             ? neo_arena_printf(a, "%s: made for version %u of the runtime, this is %d", path,
                                (unsigned)out->model->abi, NEO_RT_ABI)
             : neo_arena_printf(a, "%s: no symbol %s_model (choose with --prefix)", path, prefix);
  neo_status s = out->model ? NEO_ABI : NEO_NAME;
  neo_library_close(out);
  return s;
}

const neo_rt_net *neo_library_net(neo_compilation *c, const neo_library *l, const char *entry) {
  for (size_t k = 0; k < c->networks.n; k++) {
    const neo_network *n = c->networks.at[k];
    if (neo_streq(neo_name_text(c->names, n->entry), entry))
      return dlsym(l->handle, neo_arena_printf(&c->arena, "%s_net", neo_network_base(c, n)));
  }
  return NULL;
}

void neo_library_close(neo_library *l) {
  if (l->handle)
    dlclose(l->handle);
  *l = (neo_library){0};
}

static neo_status make_in(neo_compilation *c, const char *folder, neo_library *out) {
  c->options.out_dir = folder;
  c->options.emit = NEO_EMIT_SO;
  c->options.runtime = NEO_RUNTIME_NONE;
  c->options.depfile = NULL;
  neo_status s = neo_compile_emit(c);
  const char *path = neo_arena_printf(&c->arena, "%s/lib%s.so", folder, c->prefix);
  if (!s)
    s = neo_library_open(&c->arena, path, c->prefix, out, &c->why);
  unlink(path);
  return s;
}

neo_status neo_library_make(neo_compilation *c, neo_library *out) {
  const char *folder;
  *out = (neo_library){0};
  if (neo_temp_folder(&c->arena, NULL, &folder)) {
    c->why = neo_arena_printf(&c->arena, "%s: %s", folder, strerror(errno));
    return NEO_IO;
  }
  neo_status s = make_in(c, folder, out);
  rmdir(folder);
  return s;
}
