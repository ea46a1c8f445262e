/* Builds in memory (neo/neo.h), and what is loaded of them. */
#include "tests/embed/embed.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

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
  const void *o0 = neo_build_output(b[0], "o", &n0), *o1 = neo_build_output(b[1], "o", &n1);
  CHECK(n0 == n1 && memcmp(o0, o1, n0) == 0);
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
  CHECK(neo_build_make(&r, &b) == 0 && neo_build_output(b, "o", NULL));
  CHECK(neo_code_load(b, &code, &message) == 15 && !code);
  CHECK(strstr(message, "another machine"));
  neo_messages_free(message);
  neo_build_free(b);
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_operator_and_its_gradients_run_in_the_process),
      cmocka_unit_test(modules_in_memory_come_before_files),
      cmocka_unit_test(an_error_in_a_module_has_its_place),
      cmocka_unit_test(sizes_are_told_by_the_call),
      cmocka_unit_test(functions_of_libm_are_those_of_the_library),
      cmocka_unit_test(random_numbers_follow_the_seed),
      cmocka_unit_test(builds_and_codes_are_freed_in_any_order),
      cmocka_unit_test(bad_requests_say_what_is_wrong),
      cmocka_unit_test(code_of_another_machine_is_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
