/* Lowering of keyed scans (schedule/keyed_scan/keyed_scan.h): the loop over the scan's axis in the block. */
#pragma once
#include "codegen/lower/common/scope.h"

/* Appends the loops of a keyed scan to block `in`; a group that is none fails the lowering. */
void neo_lower_keyed_scan(lowering *l, neo_block *in);
