/* Minimal filtering, forced for tests. */
#pragma once
#include "transform/transform.h"

/* Runs neo_pass_winograd; with `always`, wherever it is possible at any cost. Statuses are those of
 * a pass: NEO_OK, or an error that was reported. */
neo_status neo_winograd(neo_module *m, bool always);
