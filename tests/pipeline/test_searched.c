/* Schedules that were searched for are kept in the cache of compiled code: what is found there is what
 * a search gives, whatever somebody wrote in its place. */
#include "base/file.h"
#include "tools/cache/code.h"
#include "tools/pipeline/compile.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  neo_arena arena;
  char folder[64]; /* of the cache */
  neo_code_usage usage;
} world;

static int set_up(void **state) {
  world *w = calloc(1, sizeof *w);
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  strcpy(w->folder, "/tmp/neo-searched-XXXXXX");
  *state = w;
  return mkdtemp(w->folder) ? 0 : -1;
}

static int tear_down(void **state) {
  world *w = *state;
  int failed = system(neo_arena_printf(&w->arena, "rm -rf %s", w->folder));
  neo_arena_free(&w->arena);
  free(w);
  return failed;
}

#define LAYERS(WIDTH)                                                          \
  "input X[64, 300]\nparam V[300, 200] = 0\nparam W[200, " WIDTH "] = 0\n"     \
  "H[b, j] = sum[i] X[b, i]*V[i, j]\nA[b, j] = exp(sin(cos(tanh(H[b, j]))))\n" \
  "Y[b, k] = sum[j] A[b, j]*W[j, k]\noutput Y\n"

/* The schedules of all groups as text, by a compilation with this cache. */
static const char *schedules_of(world *w, const char *text, const char *cache) {
  neo_compilation c;
  neo_str s;
  neo_compile_options o = {.path = "layers",
                           .text = text,
                           .text_bytes = strlen(text),
                           .target = "x86_64",
                           .mcpu = "x86-64-v3",
                           .cache = cache};
  neo_compilation_init(&c, &o);
  assert_int_equal(neo_compile_plan(&c), NEO_OK);
  neo_str_init(&s, &w->arena);
  for (size_t k = 0; k < c.schedules.n; k++) {
    neo_schedule_print(&c.schedules.at[k], &s);
    neo_str_add(&s, "\n");
  }
  neo_compilation_free(&c);
  if (cache)
    assert_int_equal(neo_code_survey(&w->arena, cache, &w->usage), NEO_OK);
  return neo_str_text(&s);
}

static void found_schedules_are_those_of_a_search(void **state) {
  world *w = *state;
  const char *want = schedules_of(w, LAYERS("100"), NULL);
  assert_non_null(strstr(want, "tile"));
  assert_string_equal(schedules_of(w, LAYERS("100"), w->folder), want);
  size_t kept = w->usage.entries[NEO_CODE_SCHEDULE];
  assert_true(kept >= 2);
  assert_int_equal(w->usage.hits, 0);
  assert_string_equal(schedules_of(w, LAYERS("100"), w->folder), want);
  assert_int_equal(w->usage.entries[NEO_CODE_SCHEDULE], kept);
  assert_int_equal(w->usage.hits, kept);
}

static void another_layer_adds_its_own_schedule_alone(void **state) {
  world *w = *state;
  schedules_of(w, LAYERS("100"), w->folder);
  size_t kept = w->usage.entries[NEO_CODE_SCHEDULE];
  assert_string_equal(schedules_of(w, LAYERS("150"), w->folder),
                      schedules_of(w, LAYERS("150"), NULL));
  assert_int_equal(w->usage.entries[NEO_CODE_SCHEDULE], kept + 1);
}

static void equal_groups_are_searched_once(void **state) {
  world *w = *state;
  schedules_of(w,
               "input X[64, 200]\nparam V[200, 200] = 0\nparam W[200, 200] = 0\n"
               "H[b, j] = sum[i] X[b, i]*V[i, j]\nY[b, k] = sum[j] H[b, j]*W[j, k]\noutput Y\n",
               w->folder);
  assert_int_equal(w->usage.entries[NEO_CODE_SCHEDULE], 1);
  assert_int_equal(w->usage.misses, 1);
}

/* Puts the text in place of every schedule, with a right checksum. Returns how many there were. */
static size_t replace_all(world *w, const char *text) {
  const char *why;
  size_t n = 0;
  neo_code_cache *x = neo_code_open(&neo_io_default, &w->arena, w->folder, 1 << 30, &why);
  DIR *d = opendir(w->folder);
  assert_non_null(x);
  assert_non_null(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    unsigned long long a, b;
    if (!strstr(e->d_name, ".schedule"))
      continue;
    assert_int_equal(sscanf(e->d_name, "%16llx%16llx", &a, &b), 2);
    neo_code_put(x, (neo_code_key){NEO_CODE_SCHEDULE, {a, b}}, text, strlen(text), false);
    n++;
  }
  closedir(d);
  neo_code_close(x);
  return n;
}

static void what_is_no_legal_schedule_is_searched_for_anew(void **state) {
  world *w = *state;
  static const char *const wrong[] = {
      "",
      "til vector_axis=1",
      "tile vector_axis=1 vector_width=8 no_such_parameter=3",
      "tile vector_axis=1 vector_width=8 pack=64",
      "tile vector_axis=9 vector_width=8",
      "scan vector_axis=0 vector_width=8",
      "gpu_tile",
  };
  const char *want = schedules_of(w, LAYERS("100"), w->folder);
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    assert_true(replace_all(w, wrong[k]) >= 2);
    assert_string_equal(schedules_of(w, LAYERS("100"), w->folder), want);
  }
  uint64_t hits = w->usage.hits;
  assert_string_equal(schedules_of(w, LAYERS("100"), w->folder), want);
  assert_int_equal(w->usage.hits - hits, w->usage.entries[NEO_CODE_SCHEDULE]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(found_schedules_are_those_of_a_search),
      TEST(another_layer_adds_its_own_schedule_alone),
      TEST(equal_groups_are_searched_once),
      TEST(what_is_no_legal_schedule_is_searched_for_anew),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
