/* JSON through cJSON: parse and print only.
 *
 * cJSON's own nesting limit (1000) is fixed when it is compiled, so depth is counted here first.
 * Text after the value is an error. cJSON keeps the place of its last error in a global variable;
 * nothing here reads it. */
#include "base/json.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <math.h>
#include <string.h>

enum { DEEPEST = 64 };

/* The index of the quote that ends the string opened at text[i], or n. */
static size_t skip_string(const char *text, size_t n, size_t i) {
  for (i++; i < n && text[i] != '"'; i++)
    if (text[i] == '\\')
      i++;
  return i;
}

static bool too_deep(const char *text, size_t n) {
  int depth = 0;
  for (size_t i = 0; i < n; i++) {
    if (text[i] == '"')
      i = skip_string(text, n, i);
    else if (text[i] == '{' || text[i] == '[')
      depth++;
    else if (text[i] == '}' || text[i] == ']')
      depth--;
    if (depth > DEEPEST)
      return true;
  }
  return false;
}

static bool only_space(const char *text, const char *end) {
  while (text < end && *text && strchr(" \t\r\n", *text))
    text++;
  return text >= end;
}

neo_status neo_json_parse(const char *text, size_t n, neo_json **out) {
  *out = NULL;
  if (!text || n == 0 || too_deep(text, n))
    return NEO_FORMAT;
  errno = 0;
  const char *rest = NULL;
  cJSON *j = cJSON_ParseWithLengthOpts(text, n, &rest, false);
  if (!j)
    return errno == ENOMEM ? NEO_MEMORY : NEO_FORMAT;
  if (!only_space(rest, text + n)) {
    cJSON_Delete(j);
    return NEO_FORMAT;
  }
  *out = j;
  return NEO_OK;
}

void neo_json_free(neo_json *j) {
  cJSON_Delete(j);
}

char *neo_json_print(const neo_json *j) {
  return j ? cJSON_PrintUnformatted(j) : NULL;
}

neo_json *neo_json_get(const neo_json *j, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(j, key);
}

neo_json *neo_json_first(const neo_json *j) {
  return cJSON_IsArray(j) || cJSON_IsObject(j) ? j->child : NULL;
}

neo_json *neo_json_next(const neo_json *j) {
  return j ? j->next : NULL;
}

const char *neo_json_text(const neo_json *j) {
  return cJSON_GetStringValue((cJSON *)(uintptr_t)j);
}

bool neo_json_number(const neo_json *j, double *x) {
  if (!cJSON_IsNumber(j))
    return false;
  *x = j->valuedouble;
  return true;
}

bool neo_json_integer(const neo_json *j, int64_t *x) {
  double d;
  if (!neo_json_number(j, &d) || !(fabs(d) <= 0x1p53) || floor(d) != d)
    return false;
  *x = (int64_t)d;
  return true;
}

bool neo_json_is_array(const neo_json *j) {
  return cJSON_IsArray(j);
}

bool neo_json_is_object(const neo_json *j) {
  return cJSON_IsObject(j);
}
