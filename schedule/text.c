/* Schedules as text, and the tables of strategies and parameters. */
#include "schedule/schedule.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  const char *text;
  neo_param_range params;
  neo_strategy_body body;
  bool keyed, prefetches;
} strategy_row;

#define FAMILY(family)                                               \
  {                                                                  \
    offsetof(neo_schedule_params, family) / sizeof(int64_t),         \
        sizeof(((neo_schedule_params *)0)->family) / sizeof(int64_t) \
  }
static const strategy_row strategies[] = {
#define X(id, name, family, body, keyed, prefetches, meaning) \
  {#name, FAMILY(family), NEO_BODY_##body, keyed, prefetches},
#include "schedule/strategy.def"
#undef X
};

typedef struct {
  const char *text, *meaning;
  int64_t plain;
  neo_param_kind kind;
} param_row;

static const param_row params[] = {
#define X(family, field, plain, kind, meaning) {#field, meaning, plain, NEO_PARAM_##kind},
#include "schedule/params.def"
#undef X
};
#define X(family, field, plain, kind, meaning) NUMBER_##family##_##field,
enum {
#include "schedule/params.def"
};
#undef X
#define X(family, field, plain, kind, meaning) \
  _Static_assert((neo_param)NUMBER_##family##_##field == NEO_PARAM(family, field), "order");
#include "schedule/params.def"
#undef X
_Static_assert(sizeof params / sizeof *params == NEO_PARAMS, "a family is missing");

neo_strategy_body neo_strategy_body_of(neo_strategy s) {
  return strategies[s].body;
}

bool neo_strategy_is_keyed(neo_strategy s) {
  return strategies[s].keyed;
}

bool neo_strategy_prefetches(neo_strategy s) {
  return strategies[s].prefetches;
}

neo_param_range neo_strategy_params(neo_strategy s) {
  return strategies[s].params;
}

const char *neo_param_text(neo_param k) {
  return params[k].text;
}

const char *neo_param_meaning(neo_param k) {
  return params[k].meaning;
}

neo_schedule neo_schedule_plain(void) {
  neo_schedule s = {0};
  for (neo_param k = 0; k < NEO_PARAMS; k++)
    s.at[k] = params[k].plain;
  return s;
}

bool neo_schedule_has_own_params_only(const neo_schedule *s) {
  neo_param_range own = strategies[s->strategy].params;
  for (neo_param k = 0; k < NEO_PARAMS; k++)
    if ((k < own.first || k >= own.first + own.n) && s->at[k] != params[k].plain)
      return false;
  return true;
}

void neo_schedule_print(const neo_schedule *s, neo_str *out) {
  neo_str_add(out, strategies[s->strategy].text);
  for (neo_param k = 0; k < NEO_PARAMS; k++)
    if (s->at[k] != params[k].plain)
      neo_str_addf(out, " %s=%lld", params[k].text, (long long)s->at[k]);
}

/* ---- roles */

neo_param_kind neo_param_kind_of(neo_param k) {
  return params[k].kind;
}

neo_param neo_strategy_param(neo_strategy s, neo_param_kind kind) {
  neo_param_range own = strategies[s].params;
  for (neo_param k = own.first; k < own.first + own.n; k++)
    if (params[k].kind == kind)
      return k;
  return NEO_PARAMS;
}

int64_t neo_schedule_value(const neo_schedule *s, neo_param_kind kind) {
  static const int64_t absent[] = {
#define X(id, absent, meaning) absent,
#include "schedule/param_kinds.def"
#undef X
  };
  neo_param k = neo_strategy_param(s->strategy, kind);
  return k < NEO_PARAMS ? s->at[k] : absent[kind];
}

/* ---- schedules */

bool neo_schedule_equal(const neo_schedule *a, const neo_schedule *b) {
  return a->strategy == b->strategy && memcmp(a->at, b->at, sizeof a->at) == 0;
}

static bool is_word(const char *name, const char *text, size_t n) {
  return strlen(name) == n && memcmp(name, text, n) == 0;
}

static bool parse_strategy(const char *text, size_t n, neo_schedule *out) {
  for (int k = 0; k < NEO_STRATEGIES; k++)
    if (is_word(strategies[k].text, text, n)) {
      out->strategy = (neo_strategy)k;
      return true;
    }
  return false;
}

/* NEO_PARAMS: the strategy has no such parameter. */
static neo_param param_of(neo_strategy s, const char *text, size_t n) {
  neo_param_range own = strategies[s].params;
  for (neo_param k = own.first; k < own.first + own.n; k++)
    if (is_word(params[k].text, text, n))
      return k;
  return NEO_PARAMS;
}

bool neo_schedule_parse(const char *text, neo_schedule *out) {
  bool seen[NEO_PARAMS] = {false};
  *out = neo_schedule_plain();
  text += strspn(text, " \t\n");
  size_t n = strcspn(text, " \t\n");
  if (!parse_strategy(text, n, out))
    return false;
  text += n;
  while (*(text += strspn(text, " \t\n"))) {
    n = strcspn(text, "= \t\n");
    neo_param k = param_of(out->strategy, text, n);
    if (k == NEO_PARAMS || text[n] != '=' || seen[k])
      return false;
    char *end;
    out->at[k] = strtoll(text + n + 1, &end, 10);
    if (end == text + n + 1 || (*end && !strchr(" \t\n", *end)))
      return false;
    seen[k] = true;
    text = end;
  }
  return true;
}
