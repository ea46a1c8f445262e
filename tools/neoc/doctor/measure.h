/* The measurements of `neoc doctor --measure`. */
#pragma once
#include "base/machine.h"
#include "tools/neoc/neoc.h"

/* m: the row of this machine's level; its measured fields are replaced. */
neoc_exit neoc_measure_machine(neoc_cli *cli, neo_machine *m);
/* Measures one core: its clock and its multiply-adds (core.c). */
void neoc_measure_core(neo_machine *m);
