/* Limits of a GPU's thread blocks, which all strategies for GPUs share. Private to schedule. */
#pragma once

enum { NEO_BLOCK_MOST = 1024 /* threads */, NEO_BLOCK_WARP = 32 };
