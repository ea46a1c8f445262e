/* safetensors_json.h: the JSON that a safetensors header needs: objects, arrays of whole numbers,
 * strings. Private to runtime/files.
 *
 * Functions return false after a failure, whose status and message are the reader's then: the first
 * one stays. */
#pragma once
#include "runtime/files/format.h"

typedef struct {
  const char *p, *end; /* what is not read yet */
  char *text;          /* where the next string goes: a string is never longer than its source */
  const neo_rti_source *s; /* where messages go */
  neo_rt_status status;
} neo_rti_json;

/* Notes a failure; returns false. */
bool neo_rti_json_bad(neo_rti_json *r, const char *what);
void neo_rti_json_skip_space(neo_rti_json *r);
/* Is c next, behind spaces? Then it is read. */
bool neo_rti_json_take(neo_rti_json *r, char c);
/* As take, and a failure if it is not. */
bool neo_rti_json_need(neo_rti_json *r, char c) NEO_MUST_CHECK;
/* The string's text, which ends with NUL and holds no other. */
bool neo_rti_json_string(neo_rti_json *r, const char **out) NEO_MUST_CHECK;
/* [n, n, ...], at most `most`, their number to *n. */
bool neo_rti_json_numbers(neo_rti_json *r, int64_t *out, int most, int *n) NEO_MUST_CHECK;
