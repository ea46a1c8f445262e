/* Alignment of the buffers of a GPU's kernels. Tensors on a GPU begin at multiples of 16 bytes. A
 * buffer whose form begins at the tensor's first element has the same alignment
 * (schedule/vector_access.h), so that neighbouring elements can be read together. */
#pragma once
#include "codegen/loop/loop.h"
#include "fusion/group.h"

/* Sets the alignment of the kernel's buffers that vector accesses and asynchronous copies need. */
void neo_kernel_align(neo_module *m, const neo_group *g, neo_kernel *k);
/* Do the tensors of two groups with equal keys begin at the same multiples, so that one kernel is
 * right for both? */
bool neo_align_matches(neo_module *m, const neo_group *a, const neo_group *b);
