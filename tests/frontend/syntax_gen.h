/* Random programs that follow the grammar, for property tests: every rule is taken, names mean
 * nothing. Line ends and comments stand wherever the language allows them. The same seed gives
 * the same text. */
#ifndef NEO_TESTS_SYNTAX_GEN_H
#define NEO_TESTS_SYNTAX_GEN_H
#include "base/str.h"

void gen_program(neo_str *out, uint64_t seed);
/* Words of the language in no order. */
void gen_token_soup(neo_str *out, uint64_t seed);
/* Removes, doubles, swaps or overwrites a few bytes. */
void gen_damage(char *text, size_t *n, size_t cap, uint64_t seed);

#endif
