/* A machine as text, which `neoc doctor --measure` writes and --profile=FILE takes:
 *
 *     neo-profile 1
 *     machine = x86-64-v3
 *     # a comment
 *     clock_hz = 3.2e+09
 *
 * What a profile does not say is as in the row of machine.def that it names; machine_fields.def
 * lists what it may say. */
#pragma once
#include "base/machine.h"
#include "base/str.h"

/* All that a profile may say, with what it means. Parsing it gives the same machine. */
void neo_machine_print(const neo_machine *m, neo_str *out);
/* False, with the line and what is wrong with it in *why, if the text is no profile. */
bool neo_machine_parse(const char *text, size_t n, neo_machine *out, neo_str *why);
