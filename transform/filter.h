/* Minimal filtering, with a choice for tests. */
#ifndef NEO_TRANSFORM_FILTER_H
#define NEO_TRANSFORM_FILTER_H
#include "transform/transform.h"

/* As neo_pass_filter; with `always`, wherever it is possible, whatever it costs. */
neo_status neo_filter(neo_module *m, bool always);

#endif
