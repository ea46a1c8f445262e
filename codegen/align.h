/* Alignment of the buffers of a GPU's kernels. Its memory is handed out at multiples of 16 bytes, so
 * a buffer whose form begins at its tensor's start begins there too (schedule/vector_access.h), and neighbouring
 * elements can be read as one. */
#pragma once
#include "codegen/loop/loop.h"
#include "fusion/group.h"

/* A pass over the kernel of a group: sets the alignment of buffers where it helps. */
void neo_kernel_align(neo_module *m, const neo_group *g, neo_kernel *k);
/* Do the tensors of two groups that compute the same begin at the same multiples, so that one
 * kernel is right for both? */
bool neo_align_matches(neo_module *m, const neo_group *a, const neo_group *b);
