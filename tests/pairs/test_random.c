/* Random programs of the language: machine code gives what the reference interpreter gives, and
 * together they have every pair of a feature with a kind of fusion or a strategy.
 *
 * With options, a command: see usage below, or tools/pairs. */
#include "tests/effort.h"
#include "tests/pairs/drive.h"
#include "tests/pairs/edges.h"
#include <cmocka.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COUNT = 200, REACHED = 80 }; /* percent of the pairs that can be */

static void equal_the_interpreter(pairs_drawer *draw) {
  static pairs_table t;
  pairs_drive d = {.draw = draw, .first = 1, .n = neo_test_count(COUNT), .variants = 10};
  if (pairs_drive_run(&d, &t))
    fail_msg("%u programs of %u fail", t.failed, t.programs);
  assert_true(t.rejected <= 2 + t.programs * 3 / 100); /* the generator's fault */
  assert_true(t.promised * 10 >= t.compared * 8);
  uint32_t legal, reached = pairs_table_reached(&t, false, &legal);
  if (d.n >= 2 * COUNT && reached * 100 < legal * REACHED)
    fail_msg("%u of %u pairs are reached", reached, legal);
}

static void random_programs_equal_the_interpreter(void **state) {
  (void)state;
  equal_the_interpreter(pairs_draw);
}

static void those_with_every_option_do_too(void **state) {
  (void)state;
  equal_the_interpreter(pairs_draw_wide);
}

/* ---- the command */

static const char usage[] =
    "usage: test_pairs_random [OPTIONS]\n\n"
    "      --seeds=A..B      these seeds (default: 1..1000)\n"
    "      --until=N         until each pair that can be reached has N instances\n"
    "      --table           print the table of counts\n"
    "      --jobs=N          so many processes (default: 1)\n"
    "      --variants=N      percent of the seeds that are compiled in another way as well: a kind\n"
    "                        of fusion off, random schedules, other precision (default: 50)\n"
    "      --target=T, --mcpu=CPU  as neoc's\n"
    "      --json=FILE       a line for each program, with inputs and results\n"
    "      --json-seeds=N    only of the first N seeds\n"
    "      --folder=FOLDER   failing programs, made smaller, become files here\n"
    "      --recurrences     programs with recurrences; before --print\n"
    "      --vertices        programs over graphs; before --print\n"
    "      --edges           programs over graphs with lists of edges; before --print\n"
    "      --nested          programs with loops in loops; before --print, behind --vertices\n"
    "      --wide            programs with every option of the grammar; before --print\n"
    "      --print=SEED      print the program of a seed, and no more\n";

enum {
  SEEDS = 1,
  UNTIL,
  TABLE,
  JOBS,
  VARIANTS,
  TARGET,
  MCPU,
  JSON,
  JSON_SEEDS,
  FOLDER,
  PRINT,
  RECURRENCES,
  VERTICES,
  EDGES,
  NESTED,
  WIDE,
  HELP
};
static const struct option options[] = {{"seeds", required_argument, NULL, SEEDS},
                                        {"until", required_argument, NULL, UNTIL},
                                        {"table", no_argument, NULL, TABLE},
                                        {"jobs", required_argument, NULL, JOBS},
                                        {"variants", required_argument, NULL, VARIANTS},
                                        {"target", required_argument, NULL, TARGET},
                                        {"mcpu", required_argument, NULL, MCPU},
                                        {"json", required_argument, NULL, JSON},
                                        {"folder", required_argument, NULL, FOLDER},
                                        {"recurrences", no_argument, NULL, RECURRENCES},
                                        {"vertices", no_argument, NULL, VERTICES},
                                        {"edges", no_argument, NULL, EDGES},
                                        {"nested", no_argument, NULL, NESTED},
                                        {"wide", no_argument, NULL, WIDE},
                                        {"print", required_argument, NULL, PRINT},
                                        {"help", no_argument, NULL, HELP},
                                        {"json-seeds", required_argument, NULL, JSON_SEEDS},
                                        {NULL, 0, NULL, 0}};

static int print_program(const pairs_drive *d, uint64_t seed) {
  neo_arena a;
  neo_str s;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&s, &a);
  pairs_program p = d->draw(&a, seed);
  pairs_text(&p, &s);
  fputs(neo_str_text(&s), stdout);
  neo_arena_free(&a);
  return 0;
}

static void read_seeds(const char *text, pairs_drive *d) {
  char *end;
  d->first = strtoull(text, &end, 10);
  uint64_t last = strncmp(end, "..", 2) == 0 ? strtoull(end + 2, NULL, 10) : d->first;
  d->n = last < d->first ? 0 : last - d->first + 1;
}

static void report(const pairs_drive *d, const pairs_table *t, bool table) {
  neo_arena a;
  neo_str s;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&s, &a);
  bool gpu = d->target && strncmp(d->target, "nvptx", 5) == 0;
  if (table && pairs_has_recurrences(d->draw)) {
    neo_str_addf(&s, "%u programs, %u not taken, %u runs, %u kernels, %u failures\n", t->programs,
                 t->rejected, t->runs, t->kernels, t->failed);
    if (gpu)
      neo_str_addf(&s, "%u loops, %u of them in persistent kernels, %u launches of such\n",
                   t->loops, t->grid_loops, t->grid_launches);
    pairs_table_recurrences(t, &s);
  } else if (table) {
    pairs_table_print(t, gpu, &s);
    uint32_t goal = d->until ? d->until : 1;
    neo_str_addf(&s, "\npairs below %u:\n", goal);
    uint32_t least = pairs_table_least(t, gpu, goal, &s);
    uint32_t legal, reached = pairs_table_reached(t, gpu, &legal);
    neo_str_addf(&s, "%u of %u pairs that can be are reached; the scarcest is %u times\n", reached,
                 legal, least);
  } else {
    neo_str_addf(&s, "%u programs, %u not taken, %u runs, %u failures\n", t->programs, t->rejected,
                 t->runs, t->failed);
  }
  fputs(neo_str_text(&s), stdout);
  neo_arena_free(&a);
}

static pairs_drawer *wide_of(pairs_drawer *d) {
  return d == pairs_draw            ? pairs_draw_wide
         : d == pairs_draw_recurrent ? pairs_draw_wide_recurrent
                                     : pairs_draw_wide_vertices;
}

static int command(int argc, char **argv) {
  static pairs_table t;
  pairs_drive d = {.draw = pairs_draw, .first = 1, .n = 1000, .variants = 50};
  bool table = false;
  for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;)
    switch (o) {
    case SEEDS:
      read_seeds(optarg, &d);
      break;
    case UNTIL:
      d.until = (uint32_t)strtoul(optarg, NULL, 10);
      d.n = UINT32_MAX;
      break;
    case TABLE:
      table = true;
      break;
    case JOBS:
      d.jobs = (uint32_t)strtoul(optarg, NULL, 10);
      break;
    case VARIANTS:
      d.variants = (uint32_t)strtoul(optarg, NULL, 10);
      break;
    case TARGET:
      d.target = optarg;
      break;
    case MCPU:
      d.mcpu = optarg;
      break;
    case JSON:
      d.json = optarg;
      remove(optarg);
      break;
    case JSON_SEEDS:
      d.json_most = strtoull(optarg, NULL, 10);
      break;
    case FOLDER:
      d.folder = optarg;
      (void)mkdir(optarg, 0777);
      break;
    case RECURRENCES:
      d.draw = pairs_draw_recurrent;
      break;
    case VERTICES:
      d.draw = pairs_draw_vertices;
      break;
    case EDGES:
      d.draw = pairs_draw_edges;
      break;
    case NESTED:
      d.draw = pairs_has_vertices(d.draw) ? pairs_draw_nested_vertices : pairs_draw_nested;
      break;
    case WIDE:
      d.draw = wide_of(d.draw);
      break;
    case PRINT:
      return print_program(&d, strtoull(optarg, NULL, 10));
    case HELP:
      fputs(usage, stdout);
      return 0;
    default:
      fputs(usage, stderr);
      return 2;
    }
  uint32_t failed = pairs_drive_run(&d, &t);
  report(&d, &t, table);
  return failed ? 1 : 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_equal_the_interpreter),
      cmocka_unit_test(those_with_every_option_do_too),
  };
  return argc > 1 ? command(argc, argv) : cmocka_run_group_tests(tests, NULL, NULL);
}
