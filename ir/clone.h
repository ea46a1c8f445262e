/* Copies of definitions, for passes that specialise or instantiate a part of the module. */
#pragma once
#include "ir/ir.h"

/* Copies definition d. Its outs become new tensors "<prefix>.<name>" of the same role, or the
 * tensors that `to` already has for them (other pieces of a tensor that was copied before); reads
 * of tensors in `to` are renamed. `to` (tensor -> tensor) gains the outs. Before and after, with to
 * = {A: A2}:
 *
 *     Y[i] = A[i] + 1          Y[i] = A[i] + 1,  prefix.Y[i] = A2[i] + 1 */
neo_def neo_def_clone(neo_module *m, neo_def d, const char *prefix, neo_map *to);
/* Copies the marked ones of n definitions (null: all), so that a copy reads copies where the
 * definitions need each other; defs[k] becomes the copy. */
void neo_defs_clone(neo_module *m, neo_def *defs, size_t n, const bool *marked, const char *prefix,
                    neo_map *to);
/* Replaces each tensor in the definition by the one that `to` maps it to, if any. */
void neo_def_rename(neo_module *m, neo_def d, neo_map *to);
/* The same for an expression, and for a list of tensors. */
neo_expr neo_expr_renamed(neo_module *m, neo_expr e, neo_map *to);
neo_list neo_tensors_renamed(neo_module *m, neo_list tensors, const neo_map *to,
                             neo_arena *scratch);
/* Finds the definitions, among n (producers first), that have to be copied if the tensors of `set`
 * are renamed and the definitions for which `is_first` holds (may be null) are copied: all that
 * read a renamed tensor or the result of a copied definition, directly or through others, and the
 * other pieces of tensors that a copied definition defines. The answer is indexed as `defs`. */
bool *neo_defs_affected(neo_module *m, const neo_def *defs, size_t n, const neo_map *set,
                        bool (*is_first)(neo_module *m, neo_def d), neo_arena *scratch);
/* A tensor name "<prefix>.<of>" that is not taken, or "<prefix>2.<of>", ... if it is. */
uint32_t neo_tensor_fresh_name(neo_module *m, const char *prefix, const char *of);
