/* safetensors_json.h, for safetensors.c: the JSON of a safetensors header: objects, arrays of whole
 * numbers, strings. Private to runtime/files.
 *
 * Functions return false after a failure, and leave its status and message in the reader: the first
 * failure stays. */
#pragma once
#include "runtime/files/format.h"

typedef struct {
  const char *p, *end; /* the rest to read */
  char *text;          /* buffer for the next string: a string is never longer than its source */
  const neo_rti_source *s; /* gets messages */
  neo_rt_status status;
} neo_rti_json;

/* Notes a failure; returns false. */
bool neo_rti_json_bad(neo_rti_json *r, const char *what);
void neo_rti_json_skip_space(neo_rti_json *r);
/* Reads c, after spaces, if it is next. */
bool neo_rti_json_take(neo_rti_json *r, char c);
/* As take; a failure if c is not next. */
bool neo_rti_json_need(neo_rti_json *r, char c) NEO_MUST_CHECK;
/* Reads a string; its text ends with NUL and contains no other. */
bool neo_rti_json_string(neo_rti_json *r, const char **out) NEO_MUST_CHECK;
/* Reads [n, n, ...] with at most `most` numbers; *n is their number. */
bool neo_rti_json_numbers(neo_rti_json *r, int64_t *out, int most, int *n) NEO_MUST_CHECK;
