/* See cross.h. */
#include "tests/pairs/cross.h"
#include "tests/pairs/compilation.h"
#include "tests/pairs/cross/request.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool shell(neo_arena *a, const char *folder, const char *command) {
  return system(neo_arena_printf(a, "cd %s && %s", folder, command)) == 0;
}

static FILE *open_in(neo_arena *a, const char *folder, const char *name, const char *mode) {
  return fopen(neo_arena_printf(a, "%s/%s", folder, name), mode);
}

/* ---- the folder */

bool pairs_cross_can(void) {
  return system("command -v aarch64-linux-gnu-gcc >/dev/null 2>&1") == 0 &&
         system("command -v qemu-aarch64 >/dev/null 2>&1") == 0;
}

neo_status pairs_cross_begin(const char *sources, char *folder) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  snprintf(folder, PAIRS_FOLDER_BYTES, "/tmp/neo_pairs_XXXXXX");
  bool good = mkdtemp(folder) &&
              shell(&a, folder, neo_arena_printf(&a, "ln -s '%s' src", sources)) &&
              shell(&a, folder,
                    "for f in src/tests/pairs/cross/run.c src/runtime/*/*.c "
                    "$(ls src/base/*.c | grep -v '/json\\.c$\\|/diag'); do "
                    "aarch64-linux-gnu-gcc -std=gnu11 -w -c -Isrc -Isrc/include $f "
                    "-o $(echo $f | tr / _).o || exit 1; done");
  neo_arena_free(&a);
  return good ? NEO_OK : NEO_IO;
}

void pairs_cross_end(const char *folder) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  if (!shell(&a, "/tmp", neo_arena_printf(&a, "rm -r %s", folder)))
    fprintf(stderr, "%s: cannot be removed\n", folder);
  neo_arena_free(&a);
}

/* ---- requests */

static void fails(pairs_cross_case *x, neo_arena *a, const char *why) {
  x->run.verdict = PAIRS_FAILED;
  x->run.why = neo_arena_strdup(a, why);
}

static int64_t bytes_of(const pairs_result *r) {
  return r->n * (int64_t)neo_type_bytes(r->type);
}

static bool make_request(pairs_compilation *x, const pairs_reference *r, pairs_request *q) {
  neo_rt_model m = neo_compile_model(&x->c);
  const char *name =
      neo_name_text(x->c.names, x->c.module->entries.at[pairs_entry(x->c.module)].name);
  int32_t found = neo_rt_find_entry(&m, name);
  const neo_rt_entry *e = &m.entries[found];
  int64_t *sizes = pairs_sizes(x, r->program);
  size_t n_results = r->results.n / (size_t)r->rounds,
         n_outputs = (size_t)(e->n_args - e->n_inputs);
  *q = (pairs_request){.seed = (int64_t)r->program->seed,
                       .entry = found,
                       .rounds = r->rounds,
                       .n_inputs = e->n_inputs,
                       .n_args = e->n_args,
                       .n_kept = (int64_t)(n_results - n_outputs)};
  if (e->n_sizes > PAIRS_MOST || e->n_args > PAIRS_MOST || n_results > PAIRS_MOST)
    return false;
  for (int32_t k = 0; k < e->n_sizes; k++)
    q->sizes[k] = sizes[m.entry_sizes[e->sizes + k] + 1];
  for (int32_t k = 0; k < e->n_inputs; k++)
    q->arg_bytes[k] = bytes_of(pairs_input_named(r, m.tensors[m.entry_args[e->args + k]].name));
  for (size_t k = 0; k < n_results; k++) {
    const pairs_result *y = &r->results.at[k];
    if (k < n_outputs) {
      q->arg_bytes[(size_t)e->n_inputs + k] = bytes_of(y);
      continue;
    }
    q->kept[k - n_outputs] = neo_rt_find(&m, y->name);
    q->kept_bytes[k - n_outputs] = bytes_of(y);
  }
  return true;
}

static void put_inputs(pairs_compilation *x, const pairs_reference *r, const pairs_request *q,
                       FILE *out) {
  neo_rt_model m = neo_compile_model(&x->c);
  const neo_rt_entry *e = &m.entries[q->entry];
  for (int32_t k = 0; k < e->n_inputs; k++) {
    const pairs_result *input = pairs_input_named(r, m.tensors[m.entry_args[e->args + k]].name);
    fwrite(pairs_input_bytes(&x->c.arena, input), 1, (size_t)q->arg_bytes[k], out);
  }
}

static void compile(pairs_cross_case *x, neo_arena *a, FILE *requests) {
  pairs_compilation made;
  pairs_request q;
  if (!pairs_open(&made, x->reference->program, x->reference->text, &x->how, false)) {
    fails(x, a, "no memory file");
    return;
  }
  if (neo_compile_all(&made.c)) {
    fails(x, a, pairs_reason(&made, a, "compiling"));
  } else if (!make_request(&made, x->reference, &q)) {
    fails(x, a, "more arguments than a request has room for");
  } else {
    fwrite(&q, sizeof q, 1, requests);
    put_inputs(&made, x->reference, &q, requests);
  }
  pairs_close(&made);
}

/* ---- the executable */

static bool compile_all(neo_arena *a, const char *folder, pairs_cross_case *cases, size_t n) {
  FILE *requests = open_in(a, folder, "requests", "wb");
  FILE *models = open_in(a, folder, "models.c", "wb");
  neo_str table;
  neo_str_init(&table, a);
  if (!requests || !models)
    return false;
  fputs("#include <neo/neo_rt.h>\n", models);
  int linked = 0;
  for (size_t k = 0; k < n; k++) {
    cases[k].run =
        (pairs_run){.verdict = cases[k].reference->verdict, .why = cases[k].reference->why};
    cases[k].how.folder = folder;
    cases[k].how.prefix = neo_arena_printf(a, "t%zu", k);
    if (!cases[k].run.verdict)
      compile(&cases[k], a, requests);
    if (cases[k].run.verdict)
      continue;
    linked++;
    fprintf(models, "extern const neo_rt_model t%zu_model;\n", k);
    neo_str_addf(&table, "  &t%zu_model,\n", k);
  }
  fprintf(models, "const neo_rt_model *const pairs_models[] = {\n%s  0};\n", neo_str_text(&table));
  fprintf(models, "const int pairs_n_models = %d;\n", linked);
  bool good = !ferror(requests) && !ferror(models);
  return fclose(requests) == 0 && fclose(models) == 0 && good;
}

/* zlib is left unresolved: nothing here reads or writes a file. */
static bool execute(neo_arena *a, const char *folder) {
  bool linked = shell(a, folder,
                      "aarch64-linux-gnu-gcc -static -Isrc/include -Wl,--unresolved-symbols="
                      "ignore-all models.c *.o -lm -o run >log 2>&1");
  if (!linked) {
    (void)shell(a, folder, "cat log >&2");
    return false;
  }
  return shell(a, folder, "qemu-aarch64 ./run <requests >answers");
}

/* ---- answers */

static void compare(pairs_cross_case *x, neo_arena *a, const char *got) {
  const pairs_reference *r = x->reference;
  for (size_t k = 0; k < r->results.n; k++) {
    if (!pairs_same(&r->results.at[k], got, &x->run, a))
      return;
    got += bytes_of(&r->results.at[k]);
  }
}

static void read_answer(pairs_cross_case *x, neo_arena *a, FILE *in) {
  pairs_answer answer;
  if (fread(&answer, sizeof answer, 1, in) != 1) {
    fails(x, a, "no answer");
    return;
  }
  char *bytes = NEO_NEW_ARRAY(a, char, (size_t)answer.n + 1);
  if (fread(bytes, 1, (size_t)answer.n, in) != (size_t)answer.n)
    fails(x, a, "half an answer");
  else if (answer.state == PAIRS_DONE)
    compare(x, a, bytes);
  else
    fails(x, a, bytes);
}

void pairs_cross_run(neo_arena *a, const char *folder, pairs_cross_case *cases, size_t n) {
  bool made = compile_all(a, folder, cases, n) && execute(a, folder);
  FILE *answers = made ? open_in(a, folder, "answers", "rb") : NULL;
  for (size_t k = 0; k < n; k++)
    if (!cases[k].run.verdict && answers)
      read_answer(&cases[k], a, answers);
    else if (!cases[k].run.verdict)
      fails(&cases[k], a, "no executable");
  if (answers)
    fclose(answers);
  if (!shell(a, folder, "rm -f t[0-9]*.o answers"))
    fprintf(stderr, "%s: cannot be emptied\n", folder);
}
