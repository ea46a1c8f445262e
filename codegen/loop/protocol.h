/* The protocols of copies, mbarriers and products in a kernel for GPUs, checked on its loop IR
 * without running it. loop/verify.c checks each statement at its place; this file checks that the
 * statements keep these protocols together:
 *
 *   bytes     EXPECT_TX announces what the boxes bring that follow it in its block, on the same
 *             mbarrier
 *   stages    where a loop goes round stages, its registers become the next stage and, behind the
 *             last one, the other parity; bytes are waited for at the parity that these count
 *   reads     what boxes fill is multiplied behind an MBARRIER_WAIT for the factor's stage
 *   arrivals  consumers that wait for bytes and multiply arrive behind a WGMMA_WAIT
 *   groups    copies are in a closed group before a COPY_WAIT, and none is under way at the end
 *   products  nothing but products touches sums before a WGMMA_WAIT 0, and none is under way at the
 *             end
 *
 * The order of loops, the values of conditions and how far producer and consumers are apart are for
 * the interpreter (loop/interp_box.c) and, in the PTX, tools/ptx_check. */
#pragma once
#include "codegen/loop/loop.h"

/* Checks a kernel that is verified. NEO_INTERNAL: *why has the kernel, the buffer or register, and the first
 * breach. */
neo_status neo_kernel_check_protocol(const neo_kernel *k, neo_str *why) NEO_MUST_CHECK;
