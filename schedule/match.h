/* The shapes that strategies match in a form or a group. The answer is cached in the form. The
 * matching functions, neo_match_<what>, are called from match.c alone; other files call
 * neo_contraction_of, neo_segment_of, neo_scan_of and neo_keyed_scan_of, each in its own header.
 * Private to schedule. */
#pragma once
#include "schedule/contract.h"
#include "schedule/keyed_scan/keyed_scan.h"
#include "schedule/scan/scan.h"
#include "schedule/segment/segment.h"

/* False: the form has another shape, and *out is meaningless. */
bool neo_match_contraction(neo_module *m, const neo_form *f, neo_contraction *out);
bool neo_match_keyed_scan(neo_module *m, const neo_group *g, neo_keyed_scan *out);
bool neo_match_segment(neo_module *m, const neo_group *g, neo_segment *out);
bool neo_match_scan(neo_module *m, const neo_group *g, neo_scan *out);
