/* All programs of two lines of which the second one's condition reads what the first one found:
 *
 *   a[n] = argmax[t] x[n, t]
 *   s[n] = sum[t where t != a[n]] x[n, t]
 *
 * Every reducer in the first line, every condition that its result allows, every reducer in the
 * second, on elements, on windows and on what a table says, with long and with short rows. */
#ifndef NEO_TESTS_PAIRS_TWO_LINES_H
#define NEO_TESTS_PAIRS_TWO_LINES_H
#include "tests/pairs/program.h"

uint32_t pairs_two_lines_count(void);
pairs_program pairs_two_lines(neo_arena *a, uint32_t number);

#endif
