/* See two_lines.h. */
#include "tests/pairs/two_lines.h"

typedef enum { POSITION, NUMBER, TRUTH } found;

static const struct {
  const char *text;
  found found;
  pairs_feature is;
} reducers[] = {{"argmax", POSITION, PAIRS_ARGMAX}, {"argmin", POSITION, PAIRS_ARGMIN},
                {"sum", NUMBER, PAIRS_SUM},         {"prod", NUMBER, PAIRS_PROD},
                {"max", NUMBER, PAIRS_MAX},         {"min", NUMBER, PAIRS_MIN},
                {"mean", NUMBER, PAIRS_MEAN},       {"logsumexp", NUMBER, PAIRS_LOGSUMEXP},
                {"any", TRUTH, PAIRS_ANY},          {"all", TRUTH, PAIRS_ALL}};

static const struct {
  const char *text;
  found of;
} conditions[] = {{"t != a[n]", POSITION},     {"t == a[n]", POSITION},
                  {"t < a[n]", POSITION},      {"t > a[n]", POSITION},
                  {"t <= a[n]", POSITION},     {"t >= a[n]", POSITION},
                  {"x[n, t] < a[n]", NUMBER},  {"x[n, t] > a[n]", NUMBER},
                  {"x[n, t] <= a[n]", NUMBER}, {"x[n, t] >= a[n]", NUMBER},
                  {"x[n, t] == a[n]", NUMBER}, {"x[n, t] != a[n]", NUMBER},
                  {"a[n] > 0.5", NUMBER},      {"a[n]", TRUTH},
                  {"not a[n]", TRUTH},         {"a[n] or x[n, t] > 0", TRUTH},
                  {"t > 1 and a[n]", TRUTH}};

static const struct {
  const char *text;
  pairs_set has;
} bodies[] = {{"x[n, t]", 0},
              {"(x[n, t + 1] else 0.5)", PAIRS_BIT(PAIRS_ELSE)},
              {"v[d[n, t]]", PAIRS_BIT(PAIRS_LOOKUP)}};

static const int64_t shapes[][2] = {{19, 5}, {5, 19}, {16, 33}, {33, 8}};

enum {
  N_REDUCERS = sizeof reducers / sizeof *reducers,
  N_CONDITIONS = sizeof conditions / sizeof *conditions,
  N_BODIES = sizeof bodies / sizeof *bodies,
  N_SHAPES = sizeof shapes / sizeof *shapes
};

/* Pairs of a first reducer and a condition that fits what it finds. */
static uint32_t first_lines(uint32_t number, uint32_t *reducer, uint32_t *condition) {
  uint32_t n = 0;
  for (uint32_t r = 0; r < N_REDUCERS; r++)
    for (uint32_t c = 0; c < N_CONDITIONS; c++)
      if (reducers[r].found == conditions[c].of && n++ == number) {
        *reducer = r;
        *condition = c;
      }
  return n;
}

uint32_t pairs_two_lines_count(void) {
  uint32_t r, c;
  return first_lines(UINT32_MAX, &r, &c) * N_REDUCERS * N_BODIES * N_SHAPES;
}

static void add(neo_arena *a, pairs_program *p, pairs_statement s) {
  NEO_PUSH(a, &p->lines, s);
}

static const char *truth(uint32_t reducer, const char *body, neo_arena *a) {
  return reducers[reducer].found == TRUTH ? neo_arena_printf(a, "(%s > 0)", body) : body;
}

pairs_program pairs_two_lines(neo_arena *a, uint32_t number) {
  pairs_program p = {.seed = number + 1};
  uint32_t first = 0, condition = 0, second = number % N_REDUCERS;
  uint32_t shape = number / N_REDUCERS % N_SHAPES, body = number / N_REDUCERS / N_SHAPES % N_BODIES;
  (void)first_lines(number / N_REDUCERS / N_SHAPES / N_BODIES, &first, &condition);
  long long rows = shapes[shape][0], columns = shapes[shape][1];
  add(a, &p,
      (pairs_statement){PAIRS_GIVEN, .name = "x",
                        .text = neo_arena_printf(a, "input x[%lld, %lld]", rows, columns)});
  add(a, &p,
      (pairs_statement){PAIRS_GIVEN, .name = "d",
                        .text =
                            neo_arena_printf(a, "input d[%lld, %lld] : i32 < 7", rows, columns)});
  add(a, &p, (pairs_statement){PAIRS_GIVEN, .name = "v", .text = "input v[7]"});
  add(a, &p,
      (pairs_statement){PAIRS_DEFINITION, .name = "a", .output = true, .reads = 1,
                        .has = PAIRS_BIT(reducers[first].is) | PAIRS_BIT(PAIRS_F32),
                        .text = neo_arena_printf(a, "a[n] = %s[t] %s", reducers[first].text,
                                                 truth(first, "x[n, t]", a))});
  add(a, &p,
      (pairs_statement){
          PAIRS_DEFINITION, .name = "s", .output = true, .reads = 1 | 1 << 3 | (body == 2 ? 6 : 0),
          .has = PAIRS_BIT(reducers[second].is) | PAIRS_BIT(PAIRS_WHERE_REDUCED) | bodies[body].has,
          .text =
              neo_arena_printf(a, "s[n] = %s[t < %lld where %s] %s", reducers[second].text, columns,
                               conditions[condition].text, truth(second, bodies[body].text, a))});
  return p;
}
