/* Lowering of scans, reductions whose domain grows with a shared axis (schedule/scan/scan.h), for columns
 * [n_lo, n_hi).
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

void neo_lower_scan(lowering *l, neo_block *in, const neo_lx *n_lo, const neo_lx *n_hi);
