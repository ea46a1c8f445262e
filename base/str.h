/* Text building: a growing, always NUL-terminated byte string in an arena. */
#pragma once
#include "base/arena.h"
#include <stdbool.h>

typedef struct neo_str {
  neo_arena *arena;
  char *at; /* null until the first append; use neo_str_text */
  size_t n, cap;
} neo_str;

/* Makes an empty string whose bytes will be in the arena. */
void neo_str_init(neo_str *s, neo_arena *arena);
static inline neo_str neo_str_in(neo_arena *arena) {
  return (neo_str){.arena = arena};
}
/* Appends a text. */
void neo_str_add(neo_str *s, const char *text);
/* Appends n bytes, which may contain NULs. */
void neo_str_addn(neo_str *s, const char *text, size_t n);
/* Appends one byte. */
void neo_str_addc(neo_str *s, char c);
/* Appends a text formatted as by printf. */
void neo_str_addf(neo_str *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *neo_str_text(const neo_str *s); /* never null */

/* Shortest decimal text that reads back as the same double ("0.5", "1e-05", "inf", "-inf", "nan").
 */
void neo_str_add_f64(neo_str *s, double x);
/* Quoted with JSON escapes. */
void neo_str_add_json(neo_str *s, const char *text);

/* Whether two texts are equal; neither may be null. */
bool neo_streq(const char *a, const char *b);
/* Damerau-Levenshtein distance, for "did you mean"; stops above `limit` and returns limit + 1. */
int neo_str_distance(const char *a, const char *b, int limit);

/* Interned strings: equal text, equal id; id 0 is the empty string. */
typedef struct neo_names neo_names;
/* An empty table of names, in the arena; name 0 is "". */
neo_names *neo_names_new(neo_arena *arena);
/* The id of a name, which is added if it is new. Equal texts have equal ids. */
uint32_t neo_name_of(neo_names *names, const char *text);
/* The same for a text of n bytes, without a NUL. */
uint32_t neo_name_ofn(neo_names *names, const char *text, size_t n);
/* The text of a name. It is in the table's arena, at one address for each name. */
const char *neo_name_text(const neo_names *names, uint32_t name);
