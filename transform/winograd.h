/* Minimal filtering, with a choice for tests. */
#pragma once
#include "transform/transform.h"

/* Does what neo_pass_winograd does; with `always`, wherever it is possible, whatever it costs. */
neo_status neo_winograd(const neo_pass_context *pass, bool always);
