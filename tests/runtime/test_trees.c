/* Labelled bracketed trees, and the ids of their words. */
#include "base/status.h"
#include "include/neo/neo_graph.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* From an allocation of just this size, so that reading past the end is noticed. */
static neo_rt_status parse(const char *text, size_t n, neo_rt_trees *t, char error[256]) {
  char *exact = malloc(n + !n);
  memcpy(exact, text, n);
  error[0] = 0;
  neo_rt_status status = neo_rt_trees_parse(exact, n, t, error, 256);
  free(exact);
  return status;
}

static void vertices_come_in_the_order_in_which_brackets_close(void **state) {
  (void)state;
  static const char text[] = "(3 (2 It) (4 (2 's) (0 It)))\n\n ( 1\tgut\xc3\xbc )(0(7 a))";
  neo_rt_trees t;
  char error[256];
  assert_int_equal(parse(text, sizeof text - 1, &t, error), NEO_OK);
  assert_int_equal(t.trees, 3);
  assert_int_equal(t.vertices, 8);
  const int64_t start[] = {0, 5, 6, 8}, first[] = {0, 0, 0, 0, 2, 4, 4, 4, 5};
  const int32_t child[] = {1, 2, 0, 3, 0}, label[] = {2, 2, 0, 4, 3, 1, 7, 0};
  const int32_t word[] = {0, 1, 0, -1, -1, 2, 3, -1};
  const int32_t line[] = {1, 1, 1, 1, 1, 3, 3, 3}, column[] = {4, 14, 21, 11, 1, 2, 14, 12};
  assert_memory_equal(t.start, start, sizeof start);
  assert_memory_equal(t.first, first, sizeof first);
  assert_memory_equal(t.child, child, sizeof child);
  assert_memory_equal(t.label, label, sizeof label);
  assert_memory_equal(t.word, word, sizeof word);
  assert_memory_equal(t.line, line, sizeof line);
  assert_memory_equal(t.column, column, sizeof column);
  assert_int_equal(t.words, 4);
  assert_string_equal(t.text[0], "It");
  assert_string_equal(t.text[1], "'s");
  assert_string_equal(t.text[2], "gut\xc3\xbc");
  assert_true(t.count[0] == 2 && t.count[3] == 1);
  assert_true(t.most_children == 2 && t.most_vertices == 5);
  neo_rt_graph g = neo_rt_trees_graph(&t, 2);
  assert_true(g.vertices == 2 && g.first[1] == g.first[0] && g.child[g.first[1]] == 0);
  neo_rt_trees_free(&t);
  assert_null(t.memory);
}

static void what_is_no_tree_is_told_with_line_and_column(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"", "1:1: no tree"},
      {" \n \n", "3:1: no tree"},
      {"(1 a)\nword", "2:1: expected '(', found 'w'"},
      {"(1 a))", "1:6: ')' without '('"},
      {"(1 a)\n(2 (1 b) (3 c)", "2:1: the bracket is not closed"},
      {"(1 (2 b)\n(1 a", "2:1: the bracket is not closed"},
      {"(", "1:2: expected the vertex' label, an integer, found the end of the file"},
      {"(a b)", "1:2: expected the vertex' label, an integer, found 'a'"},
      {"(-1 b)", "1:2: expected the vertex' label, an integer, found '-'"},
      {"((1 a))", "1:2: expected the vertex' label, an integer, found '('"},
      {"(1a b)", "1:3: expected a space after the label, found 'a'"},
      {"(99999999999 b)", "1:2: the label is too large"},
      {"(1)", "1:3: a vertex with neither a word nor children"},
      {"(1 a b)", "1:6: a second word: a leaf has one"},
      {"(1 a (2 b))", "1:6: a child after a word: expected ')'"},
      {"(1 (2 b) a)", "1:10: a word after children: expected ')' or '('"},
      {"(1 \xc3\xbc\x01)", "1:5: a control character, 0x01"},
      {"(1 \x7f)", "1:4: a control character, 0x7f"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    neo_rt_trees t;
    char error[256];
    assert_int_equal(parse(cases[k][0], strlen(cases[k][0]), &t, error), NEO_FORMAT);
    assert_string_equal(error, cases[k][1]);
    assert_null(t.memory);
  }
  neo_rt_trees t;
  char error[256];
  assert_int_equal(parse("(1 a\0)", 6, &t, error), NEO_FORMAT);
  assert_string_equal(error, "1:5: a control character, 0x00");
  assert_int_equal(neo_rt_trees_parse(NULL, 0, &t, NULL, 0), NEO_NULL);
}

static void a_tree_a_million_deep_is_read_without_recursion(void **state) {
  (void)state;
  enum { DEEP = 1000000 };
  char *text = malloc(4 * DEEP + 8), *p = text, error[256];
  for (int k = 0; k < DEEP; k++, p += 3)
    memcpy(p, "(1 ", 3);
  *p++ = 'a';
  memset(p, ')', DEEP);
  neo_rt_trees t;
  assert_int_equal(parse(text, 4 * DEEP + 1, &t, error), NEO_OK);
  assert_int_equal(t.vertices, DEEP);
  assert_int_equal(t.most_vertices, DEEP);
  assert_int_equal(t.child[DEEP - 2], DEEP - 2);
  neo_rt_trees_free(&t);
  assert_int_equal(parse(text, 4 * DEEP, &t, error), NEO_FORMAT);
  assert_string_equal(error, "1:1: the bracket is not closed");
  free(text);
}

static void a_file_is_named_in_messages(void **state) {
  (void)state;
  char path[] = "/tmp/neo-trees-XXXXXX", error[512], want[512];
  int fd = mkstemp(path);
  neo_rt_trees t;
  assert_true(fd >= 0 && write(fd, "(1 a)\n(2 b", 10) == 10);
  assert_int_equal(neo_rt_trees_load(path, &t, error, sizeof error), NEO_FORMAT);
  snprintf(want, sizeof want, "%s:2:1: the bracket is not closed", path);
  assert_string_equal(error, want);
  assert_int_equal(write(fd, ")", 1), 1);
  assert_int_equal(neo_rt_trees_load(path, &t, error, sizeof error), NEO_OK);
  assert_int_equal(t.trees, 2);
  neo_rt_trees_free(&t);
  close(fd);
  unlink(path);
  assert_int_equal(neo_rt_trees_load(path, &t, error, sizeof error), NEO_IO);
  snprintf(want, sizeof want, "%s: No such file or directory", path);
  assert_string_equal(error, want);
}

static void ids_of_words_follow_their_frequency(void **state) {
  (void)state;
  static const char text[] = "(1 (1 b) (1 a) (1 c) (1 a) (1 d) (1 c) (1 a))";
  neo_rt_trees t;
  char error[256];
  neo_rt_vocab *all, *few, *again, *none;
  assert_int_equal(parse(text, sizeof text - 1, &t, error), NEO_OK);
  assert_int_equal(neo_rt_vocab_create(&t, 100, &all), NEO_OK);
  assert_int_equal(neo_rt_vocab_create(&t, 5, &again), NEO_OK);
  assert_int_equal(neo_rt_vocab_create(&t, 3, &few), NEO_OK);
  assert_int_equal(neo_rt_vocab_create(&t, 1, &none), NEO_OK);
  assert_int_equal(neo_rt_vocab_find(none, "a"), 0);
  neo_rt_vocab_destroy(none);
  assert_int_equal(neo_rt_vocab_create(&t, 0, &none), NEO_ARGUMENT);
  assert_null(none);
  neo_rt_trees_free(&t); /* it has the words itself */
  static const char *const order[] = {"a", "c", "b", "d"};
  assert_int_equal(neo_rt_vocab_size(all), 5);
  for (int32_t k = 0; k < 4; k++) {
    assert_int_equal(neo_rt_vocab_find(all, order[k]), k + 1);
    assert_int_equal(neo_rt_vocab_find(few, order[k]), k < 2 ? k + 1 : 0);
    assert_string_equal(neo_rt_vocab_word(all, k + 1), order[k]);
  }
  assert_int_equal(neo_rt_vocab_find(all, "e"), 0);
  assert_int_equal(neo_rt_vocab_find(all, ""), 0);
  assert_null(neo_rt_vocab_word(all, 0));
  assert_null(neo_rt_vocab_word(all, 5));
  assert_int_equal(neo_rt_vocab_size(few), 3);
  assert_true(neo_rt_vocab_hash(all) == neo_rt_vocab_hash(again));
  assert_true(neo_rt_vocab_hash(all) != neo_rt_vocab_hash(few));
  neo_rt_vocab_destroy(all);
  neo_rt_vocab_destroy(again);
  neo_rt_vocab_destroy(few);
  neo_rt_vocab_destroy(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(vertices_come_in_the_order_in_which_brackets_close),
      cmocka_unit_test(what_is_no_tree_is_told_with_line_and_column),
      cmocka_unit_test(a_tree_a_million_deep_is_read_without_recursion),
      cmocka_unit_test(a_file_is_named_in_messages),
      cmocka_unit_test(ids_of_words_follow_their_frequency),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
