/* Slices of stacked parameters. Private to network. */
#pragma once
#include "network/network.h"

/* The training step with a parameter for each slice, as a module whose entry *entry is; adds the
 * slices to n->slices. `m` itself if no parameter can be sliced. (slice.c) */
const neo_module *neo_net_sliced(const neo_module *m, uint32_t *entry, neo_network *n,
                                 neo_arena *scratch);
