/* Builds in memory (neo/neo.h), and what is loaded of them. */
#include "tests/embed/embed.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a product, its gradients by the language */

static const char product[] = "input A[2, 3]\ninput B[3, 2]\ninput g[2, 2]\n"
                              "C[i, j] = sum[k] A[i, k]*B[k, j]\n"
                              "dA, dB = grad(C, A, B, seed = g)\n"
                              "output C, dA, dB\n";

static void an_operator_and_its_gradients_run_in_the_process(void **state) {
  (void)state;
  neo_request r = embed_request(product);
  r.emit = "o,h,json";
  embed_model m = embed_load(&r);
  float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 4, 5, 6}, g[] = {1, 0, 0, 2};
  float c[4], da[6], db[6];
  void *args[] = {a, b, g, c, da, db};
  embed_call(&m, "forward", NULL, args);
  static const float wanted[] = {22, 28, 49, 64}, wanted_da[] = {1, 3, 5, 4, 8, 12};
  static const float wanted_db[] = {1, 8, 2, 10, 3, 12};
  CHECK(memcmp(c, wanted, sizeof c) == 0);
  CHECK(memcmp(da, wanted_da, sizeof da) == 0);
  CHECK(memcmp(db, wanted_db, sizeof db) == 0);
  size_t n;
  const char *header = neo_build_output(m.build, "h", &n);
  CHECK(header && strlen(header) == n && strstr(header, "model_forward"));
  CHECK(strstr(neo_build_output(m.build, "json", NULL), "\"dA\""));
  CHECK(!neo_build_output(m.build, "ll", &n) && n == 0);
  embed_free(&m);
}

/* ---- modules in memory */

static void an_object_with_the_functions_of_the_header_loads_too(void **state) {
  (void)state;
  neo_request r = embed_request(product);
  neo_build *code;
  CHECK(neo_build_make(&r, &code) == 0);
  CHECK(!neo_build_output(code, "o", NULL) && !neo_build_output(code, "h", NULL));
  r.emit = "o";
  embed_model m = embed_load(&r);
  float a[] = {1, 2, 3, 4, 5, 6}, g[] = {1, 0, 0, 2}, c[4], da[6], db[6];
  void *args[] = {a, a, g, c, da, db};
  embed_call(&m, "forward", NULL, args);
  CHECK(c[3] == 64);
  size_t whole, alone;
  CHECK(neo_build_output(m.build, "o", &whole) && neo_build_output(code, "code", &alone));
  CHECK(alone < whole);
  embed_free(&m);
  neo_build_free(code);
}

static void modules_in_memory_come_before_files(void **state) {
  (void)state;
  static const char first[] =
      "import nn\nfn twice(x[n]) -> y {\n  z = nn.softmax(x)\n  y[i] = 2*z[i]\n}\n";
  static const char second[] = "fn softmax(x[n]) -> y {\n  y[i] = x[i] + 1\n}\n";
  static const neo_module_text modules[] = {{"first", first, sizeof first - 1},
                                            {"nn", second, sizeof second - 1}};
  neo_request r = embed_request("import first\ninput X[2]\nY = first.twice(X)\noutput Y\n");
  r.modules = modules;
  r.n_modules = 2;
  embed_model m = embed_load(&r);
  float x[] = {-3, -3}, y[2];
  void *args[] = {x, y};
  embed_call(&m, "forward", NULL, args);
  CHECK(y[0] == -4 && y[1] == -4);
  embed_free(&m);
  r.n_modules = 1; /* the shipped nn */
  m = embed_load(&r);
  embed_call(&m, "forward", NULL, args);
  CHECK(y[0] == 1 && y[1] == 1);
  embed_free(&m);
}

static void an_error_in_a_module_has_its_place(void **state) {
  (void)state;
  static const char text[] = "fn f(x[n]) -> y {\n  y[i] = x[i] + z\n}\n";
  static const neo_module_text module = {"part", text, sizeof text - 1};
  neo_request r = embed_request("import part\ninput X[2]\nY = part.f(X)\noutput Y\n");
  const neo_diagnostic *d;
  neo_build *b;
  r.modules = &module;
  r.n_modules = 1;
  CHECK(neo_build_make(&r, &b) == 12);
  CHECK(neo_build_diagnostics(b, &d) >= 1);
  CHECK(strcmp(d->file, "part.expr") == 0 && d->line == 2 && d->column == 17);
  CHECK(strcmp(d->source_line, "  y[i] = x[i] + z") == 0);
  CHECK(strcmp(d->severity, "error") == 0 && d->code[0] == 'E');
  CHECK(strstr(neo_build_messages(b), "part.expr:2:17: error[E"));
  CHECK(!neo_build_failure(b) && !neo_build_output(b, "o", NULL));
  neo_code *code;
  char *message;
  CHECK(neo_code_load(b, &code, &message) == 11 && !code && strstr(message, "no object"));
  neo_messages_free(message);
  neo_build_free(b);
}

/* ---- sizes of a call; functions of libm; random numbers */

static void sizes_are_told_by_the_call(void **state) {
  (void)state;
  neo_request r = embed_request("dim N <= 1000\ninput X[N]\nS = sum[i] X[i]*X[i]\noutput S\n");
  embed_model m = embed_load(&r);
  float x[1000], s;
  for (int k = 0; k < 1000; k++)
    x[k] = 1;
  for (int64_t n = 1; n <= 1000; n += 333) {
    void *args[] = {x, &s};
    embed_call(&m, "forward", &n, args);
    CHECK(s == (float)n);
  }
  embed_free(&m);
}

static void functions_of_libm_are_those_of_the_library(void **state) {
  (void)state;
  neo_request r =
      embed_request("input X[64] : f64\nY[i] = exp(X[i])^0.3 + log1p(X[i])*sin(X[i]) + erf(X[i])\n"
                    "output Y\n");
  embed_model m = embed_load(&r);
  double x[64], y[64];
  for (int k = 0; k < 64; k++)
    x[k] = 0.1 * k;
  void *args[] = {x, y};
  embed_call(&m, "forward", NULL, args);
  for (int k = 0; k < 64; k++) {
    double wanted = pow(exp(x[k]), 0.3) + log1p(x[k]) * sin(x[k]) + erf(x[k]);
    CHECK(fabs(y[k] - wanted) <= 1e-12 * (1 + fabs(wanted)));
  }
  embed_free(&m);
}

static void random_numbers_follow_the_seed(void **state) {
  (void)state;
  neo_request r = embed_request("input X[256]\nY[i] = X[i]*rand()\noutput Y\n");
  float x[256], y[2][256];
  for (int k = 0; k < 256; k++)
    x[k] = 1;
  for (int k = 0; k < 2; k++) {
    embed_model m = embed_load(&r);
    void *args[] = {x, y[k]};
    embed_call(&m, "forward", NULL, args);
    embed_free(&m);
  }
  CHECK(memcmp(y[0], y[1], sizeof y[0]) == 0);
  for (int k = 0; k < 256; k++)
    CHECK(y[0][k] >= 0 && y[0][k] < 1);
  CHECK(y[0][0] != y[0][1]);
}

/* ---- lifetimes */

static void builds_and_codes_are_freed_in_any_order(void **state) {
  (void)state;
  neo_request r = embed_request(product);
  neo_build *b[3];
  neo_code *c[3];
  for (int k = 0; k < 3; k++)
    CHECK(neo_build_make(&r, &b[k]) == 0);
  size_t n0, n1;
  const void *o0 = neo_build_output(b[0], "code", &n0), *o1 = neo_build_output(b[1], "code", &n1);
  CHECK(n0 > 0 && n0 == n1 && memcmp(o0, o1, n0) == 0);
  neo_build_free(b[1]);
  CHECK(neo_code_load(b[2], &c[2], NULL) == 0 && neo_code_load(b[0], &c[0], NULL) == 0);
  CHECK(neo_code_load(b[0], &c[1], NULL) == 0 && neo_code_model(c[1]) != neo_code_model(c[0]));
  neo_build_free(b[0]);
  neo_code_free(c[0]);
  neo_rt_ctx *ctx;
  CHECK(neo_rt_create(neo_code_model(c[1]), NULL, &ctx) == 0);
  neo_build_free(b[2]);
  neo_code_free(c[2]);
  neo_rt_destroy(ctx);
  neo_code_free(c[1]);
  neo_build_free(NULL);
  neo_code_free(NULL);
}

static void bad_requests_say_what_is_wrong(void **state) {
  (void)state;
  neo_request r = {.struct_size = sizeof r};
  neo_build *b;
  CHECK(neo_build_make(&r, &b) == 1 && strcmp(neo_build_failure(b), "no model") == 0);
  CHECK(strcmp(neo_build_messages(b), "neo: no model\n") == 0);
  neo_build_free(b);
  r = embed_request(product);
  r.emit = "so";
  CHECK(neo_build_make(&r, &b) == 1 && strstr(neo_build_failure(b), "neo_compile"));
  neo_build_free(b);
  r.emit = NULL;
  r.target = "vax";
  CHECK(neo_build_make(&r, &b) == 15 && strstr(neo_build_failure(b), "vax"));
  neo_build_free(b);
  r.target = NULL;
  r.text = NULL;
  r.path = "/nowhere/at/all.expr";
  CHECK(neo_build_make(&r, &b) == 7 && strstr(neo_build_failure(b), "/nowhere/at/all.expr"));
  neo_build_free(b);
}

static void code_of_another_machine_is_refused(void **state) {
  (void)state;
#if defined(__x86_64__)
  neo_request r = embed_request(product);
  neo_build *b;
  neo_code *code;
  char *message;
  r.target = "aarch64";
  CHECK(neo_build_make(&r, &b) == 0 && neo_build_output(b, "code", NULL));
  CHECK(neo_code_load(b, &code, &message) == 15 && !code);
  CHECK(strstr(message, "another machine"));
  neo_messages_free(message);
  neo_build_free(b);
#endif
}

/* ---- options */

static neo_build *built(const neo_request *r) {
  neo_build *b;
  if (neo_build_make(r, &b))
    fail_msg("%s", neo_build_messages(b));
  return b;
}

static void options_are_those_of_the_program(void **state) {
  static const char *const options[] = {
      "--math=bf16", "-D", "N=3", "--emit=o,json", "--no-fuse=all", "--prefix=mine", NULL};
  (void)state;
  neo_request r = embed_request("dim N = 2\ninput X[N]\nY[i] = 2*X[i]\noutput Y\n");
  r.options = options;
  embed_model m = embed_load(&r);
  float x[] = {1, 2, 3}, y[3];
  void *args[] = {x, y};
  embed_call(&m, "forward", NULL, args);
  CHECK(y[2] == 6);
  CHECK(strcmp(neo_code_model(m.code)->prefix, "mine") == 0);
  CHECK(neo_build_output(m.build, "json", NULL));
  embed_free(&m);
}

static void fields_count_before_options(void **state) {
  static const char *const options[] = {"--prefix=mine", "-DM=4", NULL};
  static const neo_define define = {"N", 5};
  (void)state;
  neo_request r =
      embed_request("dim N = 2\ndim M = 2\ninput X[N, M]\nY[i] = sum[j] X[i, j]\noutput Y\n");
  r.options = options;
  r.prefix = "ours";
  r.defines = &define;
  r.n_defines = 1;
  embed_model m = embed_load(&r);
  CHECK(strcmp(neo_code_model(m.code)->prefix, "ours") == 0);
  float x[20], y[5];
  for (int k = 0; k < 20; k++)
    x[k] = 1;
  void *args[] = {x, y};
  embed_call(&m, "forward", NULL, args);
  CHECK(y[4] == 4);
  embed_free(&m);
}

/* The status of a request with one option, whose failure has this text in it. */
static void refuses(const char *option, int32_t status, const char *text) {
  const char *const options[] = {option, NULL};
  neo_request r = embed_request("dim N = 2\ninput X[N]\nY[i] = 2*X[i]\noutput Y\n");
  neo_define define = {"N", 5};
  neo_build *b;
  r.options = options;
  r.defines = &define;
  r.n_defines = 1;
  assert_int_equal(neo_build_make(&r, &b), status);
  if (!strstr(neo_build_failure(b), text))
    fail_msg("%s: %s", option, neo_build_failure(b));
  neo_build_free(b);
}

static void wrong_options_say_why(void **state) {
  (void)state;
  refuses("--maths=bf16", 1, "unknown option '--maths=bf16' (did you mean --math?)");
  refuses("--math=f8", 1, "--math=f8 is not available");
  refuses("--math", 1, "option '--math' needs a value");
  refuses("model.expr", 1, "'model.expr' is no option");
  refuses("--help", 1, "--help is for the program neoc");
  refuses("--format=json", 1, "--format is for the program neoc");
  refuses("--emit=so", 1, "neo_compile writes them");
  refuses("--include=/nowhere/at/all", 7, "/nowhere/at/all is no folder");
  refuses("-DN=3", 1, "N has two values");
  refuses("--mcpu=z80", 15, "z80");
}

static void the_folder_of_a_path_is_where_imports_are_looked_for(void **state) {
  (void)state;
  neo_request r = embed_request("import nowhere\ninput X[2]\noutput X\n");
  neo_build *b;
  const neo_diagnostic *d;
  assert_int_equal(neo_build_make(&r, &b), 12);
  assert_true(neo_build_diagnostics(b, &d) > 0 && !strstr(d->notes[0].text, "in ."));
  assert_string_equal(d->file, "model.expr");
  neo_build_free(b);
  r.path = "some/where.expr";
  assert_int_equal(neo_build_make(&r, &b), 12);
  assert_true(neo_build_diagnostics(b, &d) > 0 && strstr(d->notes[0].text, "in some"));
  assert_string_equal(d->file, "some/where.expr");
  neo_build_free(b);
}

/* ---- how far it is, and giving it up */

typedef struct {
  int calls, cancel_at;
  volatile int32_t cancel;
  const char *last;
} watch;

static void note(void *ctx, const char *what, size_t done, size_t of) {
  watch *w = ctx;
  (void)done, (void)of;
  w->last = what;
  if (++w->calls == w->cancel_at)
    w->cancel = 1;
}

static void a_compilation_tells_what_is_done(void **state) {
  watch w = {0};
  (void)state;
  neo_request r = embed_request(product);
  r.progress = note;
  r.progress_ctx = &w;
  neo_build_free(built(&r));
  assert_true(w.calls > 10);
  assert_string_equal(w.last, "machine code and files");
}

static void a_compilation_can_be_cancelled_anywhere(void **state) {
  (void)state;
  watch all = {0};
  neo_request r = embed_request(product);
  r.progress = note;
  r.progress_ctx = &all;
  neo_build_free(built(&r));
  for (int k = 1; k < all.calls; k++) { /* after the last one it is there */
    watch w = {.cancel_at = k};
    neo_build *b;
    r.progress_ctx = &w;
    r.cancel = &w.cancel;
    int32_t s = neo_build_make(&r, &b);
    if (s == 0) { /* threads share the work, so that the last call may come sooner */
      assert_true(w.calls <= k);
    } else {
      assert_int_equal(s, 14);
      assert_string_equal(neo_build_failure(b), "cancelled");
      assert_null(neo_build_output(b, "code", NULL));
    }
    neo_build_free(b);
  }
}

/* ---- explaining */

static void explains(const neo_build *b, const char *what, const char *text) {
  char *said = neo_build_explain(b, what);
  if (!strstr(said, text))
    fail_msg("%s: no '%s' in %s", what, text, said);
  neo_messages_free(said);
}

static void a_build_can_be_explained(void **state) {
  static const char *const options[] = {"-DN=3", NULL};
  (void)state;
  neo_request r = embed_request("dim N = 2\ninput X[N]\nY[i] = exp(2*X[i])\noutput Y\n");
  r.options = options;
  neo_build *b = built(&r);
  explains(b, "groups", "Y");
  explains(b, "schedule", "Y: loops");
  explains(b, "kernels", "unit");
  explains(b, "memory", "forward: memory");
  explains(b, "timings", "in isl");
  explains(b, "ir", "neo-ir");
  explains(b, "after=front", "neo-ir");
  explains(b, "html", "<html");
  explains(b, "nonsense", "neo: unknown option '--nonsense'");
  explains(b, "after=nothing", "neo: --after: there is no pass 'nothing'");
  neo_build_free(b);
  r.text = "Y[i] = Q[i]\n";
  r.text_bytes = strlen(r.text);
  assert_int_equal(neo_build_make(&r, &b), 12);
  explains(b, "groups", "error[E");
  neo_build_free(b);
}

static void what_is_explained_is_what_was_built(void **state) {
  char folder[] = "/tmp/neo_embed_XXXXXX", path[64];
  (void)state;
  assert_non_null(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/m.expr", folder);
  FILE *f = fopen(path, "w");
  fputs("input X[4]\nY[i] = exp(X[i])\noutput Y\n", f);
  fclose(f);
  neo_request r = {.struct_size = sizeof r, .path = path, .cache = "none"};
  neo_build *b = built(&r);
  remove(path);
  rmdir(folder);
  explains(b, "ir", "exp");
  explains(b, "groups", "Y");
  neo_build_free(b);
}

/* ---- the end of memory */

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* In a child that has little left; each round is definitions of its own. */
static void compile_in_little(void) {
  static const char text[] =
      "dim N = 20000\ninput X[4]\n"
      "Y = repeat r < N from y[i] = X[i] {\n  next y[i] = sin(y[i]) + f32(r)\n}\n"
      "output Y\n";
  static const char *const options[] = {"--unroll=1000000", NULL};
  struct rlimit limit = {0};
  long pages = 0;
  FILE *f = fopen("/proc/self/statm", "r");
  CHECK(f && fscanf(f, "%ld", &pages) == 1);
  fclose(f);
  limit.rlim_cur = limit.rlim_max = (rlim_t)pages * 4096 + ((rlim_t)150 << 20);
  neo_request r = embed_request(text);
  neo_build *b;
  r.options = options;
  CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
  int32_t s = neo_build_make(&r, &b);
  if (s != 6)
    fprintf(stderr, "%d: %s\n", s, b ? neo_build_messages(b) : "");
  _exit(s == 6 && (!b || strstr(neo_build_failure(b), "out of memory")) ? 0 : 1);
}

static void the_end_of_memory_is_a_status(void **state) {
  int status;
  (void)state;
  pid_t child = fork();
  if (child == 0)
    compile_in_little();
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
}
#else
static void the_end_of_memory_is_a_status(void **state) {
  (void)state;
  skip();
}
#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_operator_and_its_gradients_run_in_the_process),
      cmocka_unit_test(an_object_with_the_functions_of_the_header_loads_too),
      cmocka_unit_test(modules_in_memory_come_before_files),
      cmocka_unit_test(an_error_in_a_module_has_its_place),
      cmocka_unit_test(sizes_are_told_by_the_call),
      cmocka_unit_test(functions_of_libm_are_those_of_the_library),
      cmocka_unit_test(random_numbers_follow_the_seed),
      cmocka_unit_test(builds_and_codes_are_freed_in_any_order),
      cmocka_unit_test(bad_requests_say_what_is_wrong),
      cmocka_unit_test(code_of_another_machine_is_refused),
      cmocka_unit_test(options_are_those_of_the_program),
      cmocka_unit_test(fields_count_before_options),
      cmocka_unit_test(wrong_options_say_why),
      cmocka_unit_test(the_folder_of_a_path_is_where_imports_are_looked_for),
      cmocka_unit_test(a_compilation_tells_what_is_done),
      cmocka_unit_test(a_compilation_can_be_cancelled_anywhere),
      cmocka_unit_test(a_build_can_be_explained),
      cmocka_unit_test(what_is_explained_is_what_was_built),
      cmocka_unit_test(the_end_of_memory_is_a_status),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
