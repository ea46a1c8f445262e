/* Matches are found once per form and cached in it (match.h). */
#include "schedule/match.h"

typedef enum { UNKNOWN, ABSENT, FOUND } state;

struct neo_match {
  state contraction, segment, scan, keyed_scan;
  neo_contraction as_contraction;
  neo_segment as_segment;
  neo_scan as_scan;
  neo_keyed_scan as_keyed_scan;
};

/* The form's cache of matches. The cast removes `const`: a cache does not change the meaning of the
 * form. */
static struct neo_match *match_of(neo_module *m, const neo_form *f) {
  if (!f->match)
    ((neo_form *)f)->match = NEO_NEW(m->arena, struct neo_match);
  return f->match;
}

static state of(bool found) {
  return found ? FOUND : ABSENT;
}

bool neo_contraction_of(neo_module *m, const neo_form *f, neo_contraction *out) {
  struct neo_match *x = match_of(m, f);
  if (x->contraction == UNKNOWN)
    x->contraction = of(neo_match_contraction(m, f, &x->as_contraction));
  if (x->contraction == FOUND && !x->as_contraction.n_operands)
    neo_contraction_split_factors(m, f, &x->as_contraction);
  *out = x->as_contraction;
  return x->contraction == FOUND;
}

bool neo_segment_of(neo_module *m, const neo_group *g, neo_segment *out) {
  struct neo_match *x = match_of(m, neo_group_form(m, g));
  if (x->segment == UNKNOWN)
    x->segment = of(neo_match_segment(m, g, &x->as_segment));
  ((neo_form *)neo_group_form(m, g))->keyed = x->segment == FOUND ? x->as_segment.axes : 0;
  *out = x->as_segment;
  return x->segment == FOUND;
}

bool neo_scan_of(neo_module *m, const neo_group *g, neo_scan *out) {
  struct neo_match *x = match_of(m, neo_group_form(m, g));
  if (x->scan == UNKNOWN)
    x->scan = of(neo_match_scan(m, g, &x->as_scan));
  *out = x->as_scan;
  return x->scan == FOUND;
}

bool neo_keyed_scan_of(neo_module *m, const neo_group *g, neo_keyed_scan *out) {
  struct neo_match *x = match_of(m, neo_group_form(m, g));
  if (x->keyed_scan == UNKNOWN)
    x->keyed_scan = of(neo_match_keyed_scan(m, g, &x->as_keyed_scan));
  *out = x->as_keyed_scan;
  return x->keyed_scan == FOUND;
}
