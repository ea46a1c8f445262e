/* Running sums by keys (schedule/keyed_scan/keyed_scan.h). */
#pragma once
#include "codegen/lower/common/scope.h"

void neo_lower_keyed_scan(lowering *l, neo_block *in);
