/* For codegen/make.c: a static check of the protocols of copies, mbarriers and products in a kernel
 * for GPUs, on its loop IR. loop/verify.c checks each statement by itself; this check is about
 * statements together:
 *
 *   bytes     EXPECT_TX announces the bytes of the boxes on the same mbarrier that follow it in its
 *             block
 *   stages    a loop over stages sets its registers to the next stage and, after the last stage, to
 *             the other parity; waits for bytes name that parity
 *   reads     a product of a buffer that boxes fill follows an MBARRIER_WAIT for the factor's stage
 *   arrivals  consumers that wait for bytes and multiply arrive after a WGMMA_WAIT
 *   groups    copies are in a closed group before a COPY_WAIT, and none is in flight at the end
 *   products  only products touch sums before a WGMMA_WAIT 0, and none is in flight at the end
 *
 * The check leaves out the order of loops, the values of conditions and the distance between
 * producer and consumers: the interpreter (loop/interp_box.c) and, on the PTX, tools/ptx_check
 * check these. */
#pragma once
#include "codegen/loop/loop.h"

/* Checks a verified kernel. NEO_INTERNAL: *why names the kernel, the buffer or register, and the
 * first violation. */
neo_status neo_kernel_check_protocol(const neo_kernel *k, neo_str *why) NEO_MUST_CHECK;
