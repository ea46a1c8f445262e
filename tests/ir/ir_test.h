/* Helpers of the tests of ir: an empty module for each test, modules from text, running them. */
#ifndef NEO_TESTS_IR_TEST_H
#define NEO_TESTS_IR_TEST_H
#include "ir/interp/interp.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

neo_module *test_module_new(neo_arena *a);
int test_setup(void **state);    /* *state: a new module in its own arena */
int test_teardown(void **state); /* frees that */
neo_list test_list1(neo_module *m, neo_expr e);

/* A module from text (the first line is added), in the arena of `m`; fails the test on any error.
 */
neo_module *test_parse(neo_module *m, const char *text);
/* The same, but null with the messages in *errors when it is wrong. */
neo_module *test_try_parse(neo_module *m, const char *text, const char **errors);
const char *test_print(neo_module *m);

/* An interpreter at these sizes (in the order of the module, from the first), seed 1. */
neo_interp *test_interp(neo_module *m, const int64_t *sizes);
void test_put_f(neo_interp *p, neo_module *m, const char *name, const double *x, size_t n);
void test_put_i(neo_interp *p, neo_module *m, const char *name, const int64_t *x, size_t n);
/* Evaluates one tensor; fails the test when that fails. */
const neo_values *test_eval(neo_interp *p, neo_module *m, const char *name);
/* The status of evaluating it. */
neo_status test_try_eval(neo_interp *p, neo_module *m, const char *name, neo_str *why);

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)

#endif
