/* Lowering of keyed scans (schedule/keyed_scan/keyed_scan.h): the loop over the scan's axis in the
 * block. */
#pragma once
#include "codegen/lower/common/scope.h"

neo_lower_inside neo_lower_keyed_scan;
