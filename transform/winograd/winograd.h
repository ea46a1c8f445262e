/* Minimal filtering, forced for tests. */
#pragma once
#include "transform/transform.h"

/* Runs neo_pass_winograd; with `always`, wherever it is possible at any cost. The status is that of
 * a pass (ir/pass.h). */
neo_status neo_winograd(const neo_pass_context *pass, bool always);
