/* The names of a text, from its syntax alone (neo_build_names). */
#include "tests/embed/embed.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* Wanted: the JSON, with ' in place of ". */
static void check_names(const char *text, const char *wanted) {
  neo_request r = embed_request(text);
  neo_build *b;
  if (neo_build_names(&r, &b))
    fail_msg("%s", neo_build_messages(b));
  size_t n;
  const char *json = neo_build_output(b, "names", &n);
  char *quoted = malloc(n + 1);
  for (size_t k = 0; k <= n; k++)
    quoted[k] = json[k] == '"' ? '\'' : json[k];
  assert_string_equal(quoted, wanted);
  free(quoted);
  neo_build_free(b);
}

static void what_is_read_and_not_defined_comes_in_order(void **state) {
  (void)state;
  check_names(
      "C[i, j] = sum[k] B[k, j]*A[i, k]\n",
      "{'reads': [{'name': 'B', 'rank': 2, 'line': 1, 'column': 18, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'A', 'rank': 2, 'line': 1, 'column': 26, 'callable': false, 'size': "
      "false, 'subscript': false}], 'defines': [{'name': 'C', 'rank': 2, 'read': false}], 'declares': []}");
}

static void declarations_are_no_reads(void **state) {
  (void)state;
  check_names(
      "import nn as n, optim\ndim N = 3\ninput X[N]\nparam W[N] = 0\nfn f(x) -> y { y = x*z }\n"
      "Y[i] = n.g(X[i]) + f(W[i])\noutput a: Y\ntrain Y using optim.adam()\n",
      "{'reads': [], 'defines': [{'name': 'Y', 'rank': 1, 'read': true}], 'declares': ['import "
      "n', 'import optim', 'dim N', 'input X', 'param W', 'fn f', 'output a', 'train step']}");
}

static void a_definition_is_read_by_others_not_by_itself(void **state) {
  (void)state;
  check_names(
      "h[t] = (h[t - 1] else 0) + X[t]\ns = sum[t] h[t]\nd = grad(s, X)\n",
      "{'reads': [{'name': 'X', 'rank': 1, 'line': 1, 'column': 28, 'callable': false, 'size': "
      "false, 'subscript': false}], 'defines': [{'name': 'h', 'rank': 1, 'read': true}, {'name': 's', 'rank': "
      "0, 'read': true}, {'name': 'd', 'rank': null, 'read': false}], 'declares': []}");
}

static void bare_names_are_scalars_where_elements_stand(void **state) {
  (void)state;
  check_names(
      "Y[i] = a*X[i] + exp(b)\nZ = f(c) + d\n",
      "{'reads': [{'name': 'a', 'rank': 0, 'line': 1, 'column': 8, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'X', 'rank': 1, 'line': 1, 'column': 10, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'b', 'rank': 0, 'line': 1, 'column': 21, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'f', 'rank': null, 'line': 2, 'column': 5, 'callable': true, 'size': "
      "false, 'subscript': false}, {'name': 'c', 'rank': null, 'line': 2, 'column': 7, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'd', 'rank': 0, 'line': 2, 'column': 12, 'callable': false, 'size': "
      "false, 'subscript': false}], 'defines': [{'name': 'Y', 'rank': 1, 'read': false}, {'name': 'Z', 'rank': "
      "0, 'read': false}], 'declares': []}");
}

/* A name that occurs as a subscript alone is an unbound index, mostly. */
static void bare_subscripts_are_told(void **state) {
  (void)state;
  check_names(
      "C[i] = A[i, k]*B[k]*x[n + 1]*y[m]*f32(m)\n",
      "{'reads': [{'name': 'A', 'rank': 2, 'line': 1, 'column': 8, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'k', 'rank': 0, 'line': 1, 'column': 13, 'callable': "
      "false, 'size': false, 'subscript': true}, {'name': 'B', 'rank': 1, 'line': 1, 'column': "
      "16, 'callable': false, 'size': false, 'subscript': false}, {'name': 'x', 'rank': 1, "
      "'line': 1, 'column': 21, 'callable': false, 'size': false, 'subscript': false}, {'name': "
      "'n', 'rank': 0, 'line': 1, 'column': 23, 'callable': false, 'size': false, 'subscript': "
      "false}, {'name': 'y', 'rank': 1, 'line': 1, 'column': 30, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'm', 'rank': 0, 'line': 1, 'column': 32, 'callable': "
      "false, 'size': false, 'subscript': false}], 'defines': [{'name': 'C', 'rank': 1, 'read': "
      "false}], 'declares': []}");
}

/* `y = X` and `y = bf16(X)` may be whole tensors. */
static void what_is_computed_without_brackets_is_a_scalar(void **state) {
  (void)state;
  check_names(
      "y = exp(a)\nz = X\nw = bf16(V)\nu[..] = T[..]*b\n",
      "{'reads': [{'name': 'a', 'rank': 0, 'line': 1, 'column': 9, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'X', 'rank': null, 'line': 2, 'column': 5, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'V', 'rank': null, 'line': 3, 'column': 10, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'T', 'rank': null, 'line': 4, 'column': 9, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'b', 'rank': 0, 'line': 4, 'column': 15, 'callable': false, 'size': "
      "false, 'subscript': false}], 'defines': [{'name': 'y', 'rank': 0, 'read': false}, {'name': 'z', 'rank': null, "
      "'read': false}, {'name': 'w', 'rank': null, 'read': false}, {'name': 'u', 'rank': null, "
      "'read': false}], 'declares': []}");
}

static void extents_are_sizes(void **state) {
  (void)state;
  check_names(
      "Y[i < 2*N] = sum[k < K where k < m] X[i + k]\n",
      "{'reads': [{'name': 'N', 'rank': 0, 'line': 1, 'column': 9, 'callable': false, 'size': "
      "true, 'subscript': false}, {'name': 'K', 'rank': 0, 'line': 1, 'column': 22, 'callable': false, 'size': "
      "true, 'subscript': false}, {'name': 'm', 'rank': 0, 'line': 1, 'column': 34, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'X', 'rank': 1, 'line': 1, 'column': 37, 'callable': false, 'size': "
      "false, 'subscript': false}], 'defines': [{'name': 'Y', 'rank': 1, 'read': false}], 'declares': []}");
}

static void carries_and_what_blocks_define_are_no_reads(void **state) {
  (void)state;
  check_names(
      "h, hs = scan t < T from s[i] = h0[i] {\n  n[i] = tanh(s[i] + x[t, i])\n  next s[i] = n[i]\n"
      "  collect n\n}\n",
      "{'reads': [{'name': 'T', 'rank': 0, 'line': 1, 'column': 18, 'callable': false, 'size': "
      "true, 'subscript': false}, {'name': 'h0', 'rank': 1, 'line': 1, 'column': 32, 'callable': false, 'size': "
      "false, 'subscript': false}, {'name': 'x', 'rank': 2, 'line': 2, 'column': 22, 'callable': false, 'size': "
      "false, 'subscript': false}], 'defines': [{'name': 'h', 'rank': null, 'read': false}, {'name': 'hs', 'rank': "
      "null, 'read': false}], 'declares': []}");
}

static void functions_of_modules_that_are_not_imported_are_reads(void **state) {
  (void)state;
  check_names(
      "y = nn.softmax(x)\nz = nn.softmax(y)\n",
      "{'reads': [{'name': 'nn.softmax', 'rank': null, 'line': 1, 'column': 5, 'callable': "
      "true, 'size': false, 'subscript': false}, {'name': 'x', 'rank': null, 'line': 1, 'column': 16, 'callable': "
      "false, 'size': false, 'subscript': false}], 'defines': [{'name': 'y', 'rank': null, 'read': true}, {'name': "
      "'z', 'rank': null, 'read': false}], 'declares': []}");
}

static void errors_of_the_syntax_are_diagnostics(void **state) {
  const neo_diagnostic *d;
  neo_request r = embed_request("C[i = A[i]\n");
  neo_build *b;
  (void)state;
  assert_int_equal(neo_build_names(&r, &b), 12);
  assert_true(neo_build_diagnostics(b, &d) >= 1 && d->line == 1 && d->code[0] == 'E');
  assert_null(neo_build_output(b, "names", NULL));
  neo_build_free(b);
}

static void options_that_no_compilation_takes_are_told(void **state) {
  const char *good[] = {"--math=bf16", NULL}, *bad[] = {"--math=foo", NULL};
  neo_request r = embed_request("y = 2*x\n");
  neo_build *b;
  (void)state;
  r.options = good;
  assert_int_equal(neo_build_names(&r, &b), 0);
  assert_non_null(neo_build_output(b, "names", NULL));
  neo_build_free(b);
  r.options = bad;
  assert_int_equal(neo_build_names(&r, &b), 1);
  assert_non_null(strstr(neo_build_failure(b), "--math=foo"));
  assert_null(neo_build_output(b, "names", NULL));
  neo_build_free(b);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_read_and_not_defined_comes_in_order),
      cmocka_unit_test(declarations_are_no_reads),
      cmocka_unit_test(a_definition_is_read_by_others_not_by_itself),
      cmocka_unit_test(bare_names_are_scalars_where_elements_stand),
      cmocka_unit_test(bare_subscripts_are_told),
      cmocka_unit_test(what_is_computed_without_brackets_is_a_scalar),
      cmocka_unit_test(extents_are_sizes),
      cmocka_unit_test(carries_and_what_blocks_define_are_no_reads),
      cmocka_unit_test(functions_of_modules_that_are_not_imported_are_reads),
      cmocka_unit_test(errors_of_the_syntax_are_diagnostics),
      cmocka_unit_test(options_that_no_compilation_takes_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
