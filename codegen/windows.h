/* A recurrence's rounds by the threads of a block, window by window.
 *
 *   for p in 0..n
 *     level[p] = max(level[i64(child[2*p])], level[i64(child[2*p + 1])]) + 1
 *   ->
 *   for w in 0..n step T                     thread t has round w + t
 *     now[t] = 0
 *     again = true
 *     while again, T + 1 times at most
 *       next = max(.. now[i64(child[2*p]) - w], or level[..] where that is before the window ..) + 1
 *       differs = next != now[t]
 *       now[t] = next
 *       again = is differs true in any thread
 *     level[w + t] = now[t]
 *
 * A round reads only rounds before it. So a round has its value in the first pass if it reads none of the window, and
 * in any pass behind one in which all that it reads have theirs, whatever was there before; and when a pass changes
 * nothing, all have theirs. A batch of graphs takes about as many passes as the graphs in a window are deep, where one
 * thread would take a turn for each vertex; a chain takes a pass for each vertex of it.
 *
 * In a pass a value may be one that no round ever has. So values may not say where memory is accessed or how often a
 * loop runs, and no integer is divided by one. */
#ifndef NEO_CODEGEN_WINDOWS_H
#define NEO_CODEGEN_WINDOWS_H
#include "codegen/loop/loop.h"

/* The kernel by windows, in k's arena; null: k is no loop of rounds that each store one integer and read earlier ones
 * where data say. */
neo_kernel *neo_kernel_by_windows(neo_kernel *k);

#endif
