/* Schedules as text: "vector_axis=1 vector_width=8 ...", every parameter, in the order of
 * sched.def. */
#include "schedule/schedule.h"
#include <stdlib.h>
#include <string.h>

static const char *const texts[] = {
#define X(name, text, meaning) text,
#include "schedule/sched.def"
#undef X
};

static const char *const meanings[] = {
#define X(name, text, meaning) meaning,
#include "schedule/sched.def"
#undef X
};

const char *neo_sched_param_text(neo_sched_param k) {
  return texts[k];
}

const char *neo_sched_param_meaning(neo_sched_param k) {
  return meanings[k];
}

void neo_schedule_print(const neo_schedule *s, neo_str *out) {
  for (int k = 0; k < NEO_SCHED_COUNT; k++)
    neo_str_addf(out, "%s%s=%lld", k ? " " : "", texts[k], (long long)s->at[k]);
}

static int param_of(const char *text, size_t n) {
  for (int k = 0; k < NEO_SCHED_COUNT; k++)
    if (strlen(texts[k]) == n && memcmp(texts[k], text, n) == 0)
      return k;
  return -1;
}

/* A parameter that is absent has the value of a plain schedule; an unknown or repeated one is an
 * error. */
bool neo_schedule_parse(const char *text, neo_schedule *out) {
  uint64_t seen = 0;
  *out = neo_schedule_plain();
  while (*(text += strspn(text, " \t\n"))) {
    size_t n = strcspn(text, "= \t\n");
    int k = param_of(text, n);
    if (k < 0 || text[n] != '=' || seen >> k & 1)
      return false;
    char *end;
    out->at[k] = strtoll(text + n + 1, &end, 10);
    if (end == text + n + 1 || (*end && !strchr(" \t\n", *end)))
      return false;
    seen |= 1ULL << k;
    text = end;
  }
  return true;
}
