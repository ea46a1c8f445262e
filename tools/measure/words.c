/* Parses the words of a line: a command, then key=value. */
#include "tools/measure/words.h"
#include <stdlib.h>
#include <string.h>

bool measure_is(const char *line, const char *command) {
  size_t n = strlen(command);
  return strncmp(line, command, n) == 0 && (line[n] == ' ' || line[n] == 0);
}

const char *measure_after(const char *line, const char *key) {
  size_t n = strlen(key);
  for (const char *p = line; (p = strstr(p, key)) != NULL; p += n)
    if (p[n] == '=' && (p == line || p[-1] == ' '))
      return p + n + 1;
  return NULL;
}

double measure_number(const char *line, const char *key, double otherwise) {
  const char *p = measure_after(line, key);
  return p ? strtod(p, NULL) : otherwise;
}

void measure_word(const char *line, const char *key, char *out, size_t n) {
  const char *p = measure_after(line, key);
  size_t length = p ? strcspn(p, " ") : 0;
  if (length >= n)
    length = 0;
  memcpy(out, p ? p : "", length);
  out[length] = 0;
}

/* ---- reasons */

static const char *const words[] = {
#define X(id, word, meaning) word,
#include "tools/measure/reasons.def"
#undef X
};

const char *measure_reason_word(measure_reason reason) {
  return words[reason];
}

measure_reason measure_reason_of(const char *word) {
  for (int k = 0; word && k < MEASURE_REASONS; k++)
    if (strcmp(words[k], word) == 0)
      return (measure_reason)k;
  return MEASURE_REASON_FAILED;
}
