/* What `neoc doctor --measure` measures. */
#pragma once
#include "base/machine.h"
#include "tools/neoc/neoc.h"

/* m: the row of this machine's level; becomes what was measured. */
neoc_exit neoc_measure_machine(neoc_cli *cli, neo_machine *m);
/* Measures one core: its clock and its multiply-adds (core.c). */
void neoc_measure_core(neo_machine *m);
