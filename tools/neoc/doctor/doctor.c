/* `neoc doctor`: the features of this machine, and what is missing to compile and link models, with
 * remedies. Exit code 1 if something necessary is missing. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "base/machine_text.h"
#include "base/temp.h"
#include "runtime/processor.h"
#include "tools/neoc/doctor/measure.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
  neoc_cli *cli;
  int missing, rows;
} doctor;

static void row(doctor *d, const char *what, const char *value) {
  if (!d->cli->json) {
    printf("  %-22s %s\n", what, value);
    return;
  }
  neo_str s = neo_str_in(d->cli->arena);
  neo_str_add_json(&s, what);
  neo_str_add(&s, ": ");
  neo_str_add_json(&s, value);
  printf("%s%s", d->rows++ ? ", " : "{", neo_str_text(&s));
}

static void title(const doctor *d, const char *text) {
  if (!d->cli->json)
    printf("%s\n", text);
}

/* Prints a row. `cure` is printed if the value is null; for a row that is not `needed` it says
 * so. */
static void need(doctor *d, const char *what, const char *value, const char *cure, bool needed) {
  if (value) {
    row(d, what, value);
    return;
  }
  d->missing += needed;
  row(d, what, neo_arena_printf(d->cli->arena, "%s: %s", needed ? "MISSING" : "not found", cure));
}

/* ---- the machine */

static char *first_line_of(neo_arena *a, const char *path, const char *key) {
  FILE *f = fopen(path, "r");
  char line[4096];
  char *found = NULL;
  while (f && !found && fgets(line, sizeof line, f)) {
    line[strcspn(line, "\n")] = 0;
    size_t n = strlen(key);
    if (strncmp(line, key, n))
      continue;
    char *value = line + n;
    value += strspn(value, " \t:");
    found = neo_arena_strdup(a, value);
  }
  if (f)
    fclose(f);
  return found;
}

static void caches(doctor *d) {
  static const char *const names[] = {"level 1 data", "level 2", "level 3"};
  static const int keys[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  neo_str s = neo_str_in(d->cli->arena);
  for (int k = 0; k < 3; k++) {
    long bytes = sysconf(keys[k]);
    if (bytes > 0)
      neo_str_addf(&s, "%s%s %ld KiB", s.n ? ", " : "", names[k], bytes / 1024);
  }
  row(d, "caches", s.n ? neo_str_text(&s) : "unknown");
}

static void machine(doctor *d) {
  neo_arena *a = d->cli->arena;
  neo_target t;
  const char *why = NULL;
  title(d, "machine");
  const char *cpu = first_line_of(a, "/proc/cpuinfo", "model name");
  row(d, "processor", cpu ? cpu : "unknown");
  row(d, "cores for this process", neo_arena_printf(a, "%d", neo_rti_cores()));
  caches(d);
  const char *memory = first_line_of(a, "/proc/meminfo", "MemAvailable");
  row(d, "memory available", memory ? memory : "unknown");
  if (neo_target_choose(a, NULL, NULL, &t, &why)) {
    need(d, "code generation", NULL, why ? why : "no back end for this processor", true);
    return;
  }
  row(d, "target", t.triple);
  row(d, "features used", t.rt_features && *t.rt_features ? t.rt_features : "the baseline's");
  row(d, "vectors",
      neo_arena_printf(a, "%u bytes, %u registers%s", t.vector_bytes, t.vector_regs,
                       t.fma ? ", fused multiply-add" : ""));
}

/* ---- software */

static bool in_path(neo_arena *a, const char *name, const char **found) {
  const char *path = secure_getenv("PATH");
  if (strchr(name, '/')) {
    *found = name;
    return access(name, X_OK) == 0;
  }
  for (const char *p = path ? path : "/usr/bin:/bin"; *p;) {
    size_t n = strcspn(p, ":");
    char *file = neo_path_join(a, n ? neo_arena_strndup(a, p, n) : ".", name);
    *found = file;
    if (access(file, X_OK) == 0)
      return true;
    p += n + (p[n] == ':');
  }
  return false;
}

static const char *tool(doctor *d, const char *name) {
  const char *found = NULL;
  return in_path(d->cli->arena, name, &found) ? found : NULL;
}

/* Tests the linker by linking an empty library with the C compiler: that it compiles proves nothing
 * about linking. */
static const char *linker(doctor *d, const char *cc) {
  const char *folder;
  neo_arena *a = d->cli->arena;
  if (!cc || neo_temp_folder(a, NULL, &folder))
    return NULL;
  const char *source = neo_path_join(a, folder, "a.c"), *out = neo_path_join(a, folder, "a.so");
  static const char text[] = "int neoc_doctor;\n";
  char *output = NULL;
  const char *argv[] = {cc, "-shared", "-fPIC", "-o", out, source, "-lm", NULL};
  neo_status s = neo_file_write(&neo_io_default, source, text, sizeof text - 1);
  if (!s)
    s = neo_spawn(a, argv, &output);
  unlink(source);
  unlink(out);
  rmdir(folder);
  return s ? NULL : "works";
}

static void software(doctor *d) {
  neo_arena *a = d->cli->arena;
  const char *cc = secure_getenv("CC");
  if (!cc || !*cc || strchr(cc, ' '))
    cc = "cc";
  title(d, "software");
  row(d, "neoc", NEO_VERSION);
  row(d, "LLVM", neo_llvm_version_text(a));
  row(d, "isl", neo_isl_version_text(a));
  const char *found = tool(d, cc);
  need(d, "C compiler", found,
       neo_arena_printf(a, "'%s' is not in PATH: `apt install gcc`, or set CC (it links .so)", cc),
       true);
  need(d, "linking a library", linker(d, found),
       "the C compiler cannot: `apt install gcc libc6-dev`", true);
  need(d, "ar", tool(d, "ar"), "only --emit=a needs it: `apt install binutils`", false);
  need(d, "ptxas", tool(d, "ptxas"),
       "libraries for GPUs hold PTX only, compiled when they are loaded: CUDA toolkit", false);
  need(d, "qemu-aarch64", tool(d, "qemu-aarch64"),
       "only tests of aarch64 code need it: `apt install qemu-user`", false);
  title(d, "installation");
  need(d, "neo-measure", neo_place_measurer(a),
       "only tuning needs it; expected next to neoc: install neo again", false);
  need(d, "libneort", neo_place_lib(a),
       "expected in ../lib next to the folder of neoc: install neo again", true);
  need(d, "headers", neo_place_include(a),
       "expected in ../include next to the folder of neoc: install neo again", true);
  need(d, "library of models", neo_place_std(a),
       "expected in ../share/neo/std next to the folder of neoc: install neo again", true);
}

/* ---- --measure */

static neoc_exit write_profile(neoc_cli *cli, const neo_machine *m) {
  const char *path = neoc_text(cli, NEOC_O_PROFILE, NULL);
  neo_str text = neo_str_in(cli->arena);
  neo_machine_print(m, &text);
  if (path && neo_file_write(&neo_io_default, path, neo_str_text(&text), text.n))
    return neoc_fail(cli, NEOC_IO, "%s cannot be written", path);
  if (cli->json) {
    neo_str json = neo_str_in(cli->arena);
    neo_str_add_json(&json, neo_str_text(&text));
    printf("{\"profile\": %s}\n", neo_str_text(&json));
  } else
    fputs(neo_str_text(&text), stdout);
  return NEOC_OK;
}

static neoc_exit measure(neoc_cli *cli) {
  neo_target t;
  const char *why = NULL;
  if (neo_target_choose(cli->arena, NULL, NULL, &t, &why))
    return neoc_fail(cli, NEOC_DEVICE, "%s", why);
  neoc_exit e = neoc_measure_machine(cli, &t.machine);
  return e ? e : write_profile(cli, &t.machine);
}

neoc_exit neoc_doctor(neoc_cli *cli) {
  doctor d = {.cli = cli};
  if (cli->n_args)
    return neoc_usage(cli, "unexpected argument '%s'", cli->args[0]);
  if (neoc_has(cli, NEOC_O_MEASURE))
    return measure(cli);
  if (neoc_has(cli, NEOC_O_PROFILE))
    return neoc_usage(cli, "--profile=FILE of doctor goes with --measure");
  machine(&d);
  software(&d);
  if (cli->json)
    printf(", \"missing\": %d}\n", d.missing);
  else if (d.missing)
    printf("%d needed thing%s missing.\n", d.missing, d.missing == 1 ? " is" : "s are");
  else
    printf("Nothing is missing.\n");
  return d.missing ? NEOC_FAILED : NEOC_OK;
}
