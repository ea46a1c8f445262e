/* Lowering of scans, reductions whose domain grows with a shared axis (schedule/scan/scan.h).
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

neo_lower_inside neo_lower_scan;
