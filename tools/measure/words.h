/* Words of lines (measure.h), which neo-measure and the tuner read and write. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Does the line start with the command? */
bool measure_is(const char *line, const char *command);
const char *measure_after(const char *line, const char *key); /* the text after "key=", or null */
/* The number after `key` in a line; `otherwise` if there is none. */
double measure_number(const char *line, const char *key, double otherwise);
/* The word after `key` in a line, cut at n bytes with its NUL; "" if there is none. */
void measure_word(const char *line, const char *key, char *out, size_t n);

typedef enum {
#define X(id, word, meaning) MEASURE_REASON_##id,
#include "tools/measure/reasons.def"
#undef X
  MEASURE_REASONS
} measure_reason;

/* The word for a reason. Constant text. */
const char *measure_reason_word(measure_reason reason);
/* The reason of a word. FAILED: the word is unknown or null. */
measure_reason measure_reason_of(const char *word);
