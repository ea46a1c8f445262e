/* Records of schedules in a compilation: what is taken from them, what is not and is said, and that
 * nothing else changes. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "codegen/loop/loop.h"
#include "schedule/space.h"
#include "tests/fault.h"
#include "tools/pipeline/compile.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char model[] = "dim B <= 8\ninput X[B, 40]\nparam W[40, 30] = 0.5\n"
                            "Y[b, j] = sum[i] X[b, i] * W[i, j]\n"
                            "S[b] = sum[j] Y[b, j]^2\noutput S\n";

typedef struct {
  neo_arena arena;
  char folder[64];
  const char *model, *records, *more;
  const char *shipped; /* folder of shipped records; null: none */
} world;

static int set_up(void **state) {
  world *w = calloc(1, sizeof *w);
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  strcpy(w->folder, "/tmp/neo_records_XXXXXX");
  if (!mkdtemp(w->folder))
    return 1;
  w->model = neo_path_join(&w->arena, w->folder, "m.expr");
  w->records = neo_path_join(&w->arena, w->folder, "a.records");
  w->more = neo_path_join(&w->arena, w->folder, "b.records");
  *state = w;
  return neo_file_write(&neo_io_default, w->model, model, sizeof model - 1) != NEO_OK;
}

static int tear_down(void **state) {
  world *w = *state;
  unlink(w->model);
  unlink(w->records);
  unlink(w->more);
  rmdir(w->folder);
  neo_arena_free(&w->arena);
  free(w);
  return 0;
}

static neo_status compile(world *w, neo_compilation *c, const char *list, neo_alloc alloc) {
  bool shipped;
  const char *why = NULL;
  const neo_records_source *sources = neo_records_sources(&w->arena, list, &shipped, &why);
  assert_non_null(sources);
  neo_compile_options o = {.path = w->model,
                           .records_dir = shipped ? w->shipped : NULL,
                           .mcpu = "x86-64-v3",
                           .target = "x86_64",
                           .records = sources,
                           .alloc = alloc};
  neo_compilation_init(c, &o);
  return neo_compile_plan(c);
}

static void compile_well(world *w, neo_compilation *c, const char *list) {
  neo_status s = compile(w, c, list, (neo_alloc){0});
  if (s)
    fail_msg("%s", c->why);
}

static size_t group_of(const neo_compilation *c, const char *name) {
  for (size_t g = 0; g < c->grouping.groups.n; g++)
    if (neo_streq(c->grouping.groups.at[g].name, name))
      return g;
  fail_msg("there is no group %s", name);
  return 0;
}

/* A record of group Y with this schedule. */
static neo_record record_of_y(world *w, const char *schedule) {
  neo_compilation c;
  neo_record r = {.threads = 1, .time_ns = 50, .default_ns = 100, .trials = 64}, copy;
  neo_str s;
  const char *why;
  compile_well(w, &c, NULL);
  neo_record_describe(&c, &c.grouping.groups.at[group_of(&c, "Y")], &r);
  r.schedule = schedule;
  neo_str_init(&s, &w->arena);
  neo_record_json(&r, &s);
  assert_int_equal(neo_record_parse(&w->arena, neo_str_text(&s), s.n, &copy, &why), NEO_OK);
  neo_compilation_free(&c);
  return copy;
}

static void put(world *w, const char *path, const neo_record *r) {
  const char *why = NULL;
  if (neo_record_append(&neo_io_default, &w->arena, path, r, 0, &why))
    fail_msg("%s", why);
}

static const char *remarks(const neo_compilation *c, world *w) {
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_diags_print(c->diags, &s, false);
  return neo_str_text(&s);
}

static const char tile3[] = "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=3 tile_n=2";

/* The checked facts of a compilation. */
typedef struct {
  bool from_record;
  int64_t tile_m;
  const char *hash, *said;
} outcome;

static outcome with(world *w, const char *list) {
  neo_compilation c;
  compile_well(w, &c, list);
  size_t g = group_of(&c, "Y");
  outcome o = {c.schedule_from.at[g] != NULL, c.schedules.at[g].loops.tile_m,
               neo_arena_strdup(&w->arena, c.plan->source_hash), remarks(&c, w)};
  for (size_t k = 0; k < c.schedule_from.n; k++)
    assert_true(k == g || !c.schedule_from.at[k]);
  neo_compilation_free(&c);
  return o;
}

static void a_record_that_fits_gives_the_schedule(void **state) {
  world *w = *state;
  neo_record r = record_of_y(w, tile3);
  put(w, w->records, &r);
  outcome without = with(w, NULL), o = with(w, w->records);
  assert_false(without.from_record);
  assert_int_not_equal(without.tile_m, 3);
  assert_true(o.from_record);
  assert_int_equal(o.tile_m, 3);
  assert_string_equal(o.said, "");
  assert_string_not_equal(o.hash, without.hash);
  assert_string_equal(with(w, w->records).hash, o.hash);
}

/* ---- in the loops of a recurrence */

static const char recurrence[] =
    "dim T <= 12\ninput X[T, 8, 40]\nparam U[40, 40] = 0.01\n"
    "h[t, b, j] = tanh(X[t, b, j] + sum[k] (h[t-1, b, k] else 0) * U[k, j])\noutput h\n";

enum { RANKED = 6 };

/* The group of the rounds with the product, and schedules that are legal for it, the choice
 * first. */
static const neo_segment *product(neo_compilation *c, neo_schedule *legal, size_t *n) {
  for (size_t k = 0; k < c->segments.n; k++) {
    const neo_segment *s = &c->segments.at[k];
    neo_space space = neo_space_of(c->module, s->g, s->machine);
    *n = neo_space_ranked(&space, legal, RANKED);
    if (s->kernel != UINT32_MAX && *n > 1)
      return s;
  }
  fail_msg("no group in the loops has a choice");
  return NULL;
}

static void a_record_gives_the_schedule_of_a_group_in_loops(void **state) {
  world *w = *state;
  neo_compilation c;
  neo_schedule legal[RANKED];
  neo_record r = {.threads = 1, .time_ns = 50, .default_ns = 100, .trials = 64};
  neo_str text;
  size_t n;
  assert_int_equal(neo_file_write(&neo_io_default, w->model, recurrence, strlen(recurrence)),
                   NEO_OK);
  compile_well(w, &c, NULL);
  const neo_segment *s = product(&c, legal, &n);
  assert_null(s->from);
  assert_true(neo_schedule_equal(&s->schedule, &legal[0]));
  neo_record_describe(&c, s->g, &r);
  neo_str_init(&text, &c.arena);
  neo_schedule_print(&legal[1], &text);
  r.schedule = neo_str_text(&text);
  put(w, w->records, &r);
  const char *hash = neo_arena_strdup(&w->arena, c.plan->source_hash);
  neo_compilation_free(&c);
  compile_well(w, &c, w->records);
  neo_schedule again[RANKED];
  s = product(&c, again, &n);
  assert_non_null(s->from);
  assert_true(neo_schedule_equal(&s->schedule, &legal[1]));
  assert_string_not_equal(c.plan->source_hash, hash);
  neo_compilation_free(&c);
}

static void other_schedules_in_loops_give_the_kernel_with_the_same_buffers(void **state) {
  world *w = *state;
  neo_compilation c;
  neo_schedule legal[RANKED];
  neo_kernel *k;
  const char *why = "";
  uint64_t key[2], own[2];
  size_t n;
  assert_int_equal(neo_file_write(&neo_io_default, w->model, recurrence, strlen(recurrence)),
                   NEO_OK);
  compile_well(w, &c, NULL);
  const neo_segment *s = product(&c, legal, &n);
  for (size_t i = 0; i < n; i++) {
    if (neo_compile_segment(&c, s, &legal[i], false, &k, &why))
      fail_msg("%s", why);
    neo_kernel_key(k, key);
    neo_kernel_key(c.kernels.at[s->kernel].kernel, own);
    assert_int_equal(key[0] == own[0] && key[1] == own[1], i == 0);
  }
  neo_compilation_free(&c);
}

static void what_does_not_fit_is_ignored_and_changes_nothing(void **state) {
  static const char *const said[] = {
      "tile is too large", "does not know", "other machines", "other machines", "", ""};
  world *w = *state;
  outcome without = with(w, NULL);
  for (size_t k = 0; k < 6; k++) {
    neo_record r = record_of_y(w, tile3);
    if (k == 0)
      r.schedule = "tile axis_m=0 tile_m=1000";
    if (k == 1)
      r.schedule = "tile axis_m=0 tile_m=3 warp=32";
    if (k == 2)
      r.target = "x86-64-v4 vector=64x32 fma l1=32768 l2=1048576";
    if (k == 3)
      r.build = "neo 0.0.1, schedules 0";
    if (k == 4)
      r.time_ns = r.default_ns; /* no gain: the model may have improved since */
    if (k == 5)
      r.key[0] ^= 1;
    unlink(w->records);
    put(w, w->records, &r);
    outcome o = with(w, w->records);
    assert_false(o.from_record);
    assert_int_equal(o.tile_m, without.tile_m);
    assert_string_equal(o.hash, without.hash);
    if (*said[k] ? !strstr(o.said, said[k]) : *o.said)
      fail_msg("case %zu says: %s", k, o.said);
  }
}

/* A little quicker than a tile of one vector is slower than the model's choice of today; a
 * hundredth of its time is not; and what beat today's choice is taken by what it gained. */
static void a_gain_over_what_the_model_no_longer_chooses_is_corrected(void **state) {
#define ONE "tile vector_axis=1 vector_width=8"
  static const struct {
    const char *against; /* null: today's choice */
    double ratio;
    bool taken;
  } of[] = {{"", 0.9, true},
            {ONE, 0.9, false},
            {ONE, 0.01, true},
            {"tile axis_m=0 tile_m=1000", 0.01, false},
            {NULL, 0.9, true}};
#undef ONE
  world *w = *state;
  neo_compilation c;
  neo_str now;
  compile_well(w, &c, NULL);
  neo_str_init(&now, &w->arena);
  neo_schedule_print(&c.schedules.at[group_of(&c, "Y")], &now);
  neo_compilation_free(&c);
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    neo_record r = record_of_y(w, tile3);
    r.against = of[k].against ? of[k].against : neo_str_text(&now);
    r.time_ns = of[k].ratio * r.default_ns;
    unlink(w->records);
    put(w, w->records, &r);
    outcome o = with(w, w->records);
    if (o.from_record != of[k].taken)
      fail_msg("against '%s', %g of its time: %d", r.against, of[k].ratio, o.from_record);
  }
}

static void the_best_of_several_files_counts_whatever_their_order(void **state) {
  world *w = *state;
  neo_record slow = record_of_y(w, tile3), fast = slow;
  slow.schedule = "tile axis_m=0 tile_m=2 vector_axis=1 vector_width=8";
  slow.time_ns = 80;
  put(w, w->records, &slow);
  put(w, w->more, &fast);
  const char *a = neo_arena_printf(&w->arena, "%s,%s", w->records, w->more);
  const char *b = neo_arena_printf(&w->arena, "none,%s,%s", w->more, w->records);
  assert_int_equal(with(w, a).tile_m, 3);
  assert_string_equal(with(w, a).hash, with(w, b).hash);
}

static void shipped_records_are_those_of_the_target_and_read_unless_none(void **state) {
  world *w = *state;
  neo_record r = record_of_y(w, tile3);
  const char *level3 = neo_path_join(&w->arena, w->folder, "x86-64-v3.records");
  const char *level4 = neo_path_join(&w->arena, w->folder, "x86-64-v4.records");
  w->shipped = w->folder;
  put(w, level4, &r);
  assert_false(with(w, NULL).from_record);
  put(w, level3, &r);
  assert_true(with(w, NULL).from_record);
  assert_true(with(w, level4).from_record);
  assert_false(with(w, "none").from_record);
  /* stale ones are told once, and none of their groups */
  unlink(level3);
  r.build = "neo 0.0.1, schedules 0";
  put(w, level3, &r);
  outcome o = with(w, NULL);
  assert_false(o.from_record);
  const char *told = strstr(o.said, "R0923");
  assert_non_null(told);
  assert_null(strstr(told + 1, "R09"));
  assert_non_null(strstr(o.said, "x86-64-v3.records: neo 0.0.1, schedules 0"));
  assert_null(strstr(with(w, "none").said, "R09"));
  unlink(level3);
  unlink(level4);
}

static void a_damaged_file_is_used_as_far_as_it_goes(void **state) {
  world *w = *state;
  neo_record r = record_of_y(w, tile3);
  put(w, w->records, &r);
  FILE *f = fopen(w->records, "a");
  fputs("999 0123456789abcdef {}\n", f);
  fclose(f);
  outcome o = with(w, w->records);
  assert_int_equal(o.tile_m, 3);
  assert_non_null(strstr(o.said, "R0922"));
  assert_non_null(strstr(o.said, "a.records: 1 damaged line passed over; line 3"));
}

static void a_named_file_that_cannot_be_read_is_an_error(void **state) {
  world *w = *state;
  neo_compilation c;
  assert_int_equal(compile(w, &c, "/nowhere/a.records", (neo_alloc){0}), NEO_IO);
  assert_string_equal(c.why, "/nowhere/a.records: No such file or directory");
  neo_compilation_free(&c);
  assert_int_equal(compile(w, &c, w->model, (neo_alloc){0}), NEO_FORMAT);
  assert_non_null(strstr(c.why, "no file of records"));
  neo_compilation_free(&c);
}

/* So that what was tuned for one of them serves the others. */
static void groups_that_share_a_kernel_share_their_records(void **state) {
  static const char *const models[] = {"mnist/cnn", "zoo/lltm_unrolled", "zoo/capsulenet_conv"};
  static const char *const imports[] = {NEO_TEST_SOURCE_DIR "/models/std", NULL};
  world *w = *state;
  size_t shared = 0;
  for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
    neo_compilation c;
    neo_map first; /* key of a kernel -> of its records */
    neo_compile_options o = {.import_paths = imports};
    o.path = neo_arena_printf(&w->arena, NEO_TEST_SOURCE_DIR "/models/%s.expr", models[i]);
    neo_map_init(&first, &w->arena);
    neo_compilation_init(&c, &o);
    assert_int_equal(neo_compile_plan(&c), NEO_OK);
    for (size_t g = 0; g < c.grouping.groups.n; g++) {
      neo_record r = {0};
      uint64_t known;
      if (c.grouping.groups.at[g].in_parts)
        continue;
      neo_record_describe(&c, &c.grouping.groups.at[g], &r);
      bool again = neo_map_get(&first, c.kernel_of_group.at[g], &known);
      if (again && known != r.key[0])
        fail_msg("%s: group %s", models[i], c.grouping.groups.at[g].name);
      shared += again;
      neo_map_set(&first, c.kernel_of_group.at[g], r.key[0]);
    }
    neo_compilation_free(&c);
  }
  assert_true(shared > 10);
}

static void the_users_file_is_read_only_when_asked_for_and_may_be_missing(void **state) {
  world *w = *state;
  setenv("XDG_CACHE_HOME", w->folder, 1);
  char *place = neo_records_place(&w->arena);
  outcome missing = with(w, "user");
  assert_false(missing.from_record);
  assert_string_equal(missing.said, "");
  neo_record r = record_of_y(w, tile3);
  const char *why;
  assert_int_equal(
      neo_record_append(&neo_io_default, &w->arena, place, &r, NEO_RECORDS_PRIVATE, &why), NEO_OK);
  assert_false(with(w, NULL).from_record);
  assert_true(with(w, "user").from_record);
  assert_int_equal(chmod(place, 0666), 0);
  outcome open = with(w, "user");
  assert_false(open.from_record);
  assert_non_null(strstr(open.said, "others may write it"));
  unlink(place);
  rmdir(neo_path_folder(&w->arena, place));
}

static void any_allocation_may_fail_while_records_are_read(void **state) {
  world *w = *state;
  neo_compilation c;
  neo_record r = record_of_y(w, tile3);
  for (int k = 0; k < 20; k++)
    put(w, w->records, &r);
  neo_alloc_fault count = {0};
  assert_int_equal(compile(w, &c, w->records, neo_alloc_with_fault(&count)), NEO_OK);
  neo_compilation_free(&c);
  for (size_t n = 1; n <= count.count; n++) {
    neo_alloc_fault fault = {.fail_at = n, .forever = n % 2};
    assert_int_equal(compile(w, &c, w->records, neo_alloc_with_fault(&fault)), NEO_MEMORY);
    neo_compilation_free(&c);
  }
}

static void a_list_of_records_is_read_as_it_is_written(void **state) {
  world *w = *state;
  bool shipped;
  const char *why = NULL;
  const neo_records_source *s = neo_records_sources(&w->arena, "a,none,user,b", &shipped, &why);
  assert_false(shipped);
  assert_string_equal(s[0].path, "a");
  assert_true(s[1].optional && s[1].flags == NEO_RECORDS_PRIVATE);
  assert_string_equal(s[2].path, "b");
  assert_null(s[3].path);
  assert_null(neo_records_sources(&w->arena, NULL, &shipped, &why)->path);
  assert_true(shipped);
  assert_null(neo_records_sources(&w->arena, "a,,b", &shipped, &why));
  assert_non_null(why);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_record_that_fits_gives_the_schedule),
      TEST(a_record_gives_the_schedule_of_a_group_in_loops),
      TEST(other_schedules_in_loops_give_the_kernel_with_the_same_buffers),
      TEST(what_does_not_fit_is_ignored_and_changes_nothing),
      TEST(a_gain_over_what_the_model_no_longer_chooses_is_corrected),
      TEST(the_best_of_several_files_counts_whatever_their_order),
      TEST(shipped_records_are_those_of_the_target_and_read_unless_none),
      TEST(a_damaged_file_is_used_as_far_as_it_goes),
      TEST(a_named_file_that_cannot_be_read_is_an_error),
      TEST(groups_that_share_a_kernel_share_their_records),
      TEST(the_users_file_is_read_only_when_asked_for_and_may_be_missing),
      TEST(any_allocation_may_fail_while_records_are_read),
      TEST(a_list_of_records_is_read_as_it_is_written),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
