/* What the tests of ir share: an empty module for each test. */
#ifndef NEO_TESTS_IR_TEST_H
#define NEO_TESTS_IR_TEST_H
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ir/ir.h"

neo_module *test_module_new(neo_arena *a);
int test_setup(void **state);    /* *state: a new module in its own arena */
int test_teardown(void **state); /* frees that */
neo_list test_list1(neo_module *m, neo_expr e);

#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup, test_teardown)

#endif
