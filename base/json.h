/* JSON through cJSON, parse and print only; nesting limit 64. The one file that includes cJSON is
 * json.c. 64-bit integers that must be exact (hashes) are strings by convention. */
#pragma once
#include "base/alloc.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct cJSON neo_json; /* null in, null or default out: chains need one check */

/* Parses n bytes of text. NEO_FORMAT, NEO_MEMORY: *out is null. The caller frees *out by
 * neo_json_free. */
neo_status neo_json_parse(const char *text, size_t n, neo_json **out) NEO_MUST_CHECK;
/* Frees a tree that was parsed or made, with all that is below its root; null is allowed. */
void neo_json_free(neo_json *j);
char *neo_json_print(const neo_json *j); /* malloc'ed; null when out of memory */

/* The member of an object with this name; null: j is no object or lacks it. Owned by j. */
neo_json *neo_json_get(const neo_json *j, const char *key);
/* Children of an object or array, in order. Null: there are none. Owned by j. */
neo_json *neo_json_first(const neo_json *j);
/* The next child of the same parent; null after the last one, or if j is null. */
neo_json *neo_json_next(const neo_json *j);
const char *neo_json_text(const neo_json *j); /* null unless a string */
/* The value of a number; false: j is none, *x is unchanged. */
bool neo_json_number(const neo_json *j, double *x) NEO_MUST_CHECK;
/* The value of an exact integer up to 2^53; false: j is none, *x is unchanged. */
bool neo_json_integer(const neo_json *j, int64_t *x) NEO_MUST_CHECK;
/* Whether j is an array; false if it is null. */
bool neo_json_is_array(const neo_json *j);
/* Whether j is an object; false if it is null. */
bool neo_json_is_object(const neo_json *j);
