/* A machine as text, which `neoc doctor --measure` writes and --profile=FILE reads:
 *
 *     neo-profile 1
 *     machine = x86-64-v3
 *     # a comment
 *     clock_hz = 3.2e+09
 *
 * Fields that a profile omits are those of the row of machine.def that it names; machine_fields.def
 * lists the fields. */
#pragma once
#include "base/machine.h"
#include "base/str.h"

/* Prints all fields, each with its meaning. Parsing the text gives the same machine. */
void neo_machine_print(const neo_machine *m, neo_str *out);
/* Parses a profile. False, with the line and its fault in *why: the text is no profile. */
bool neo_machine_parse(const char *text, size_t n, neo_machine *out, neo_str *why);
