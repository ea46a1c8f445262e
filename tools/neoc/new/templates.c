/* The starter projects: a model, and a C program that trains it on data of its own making (or, for
 * the language model, on a text), so that a new project runs before its owner has data. Their texts
 * are the files of the folder templates, which cmake/NeoTexts.cmake makes constants of. */
#include "tools/neoc/new/templates.h"
#include <stddef.h>

const neoc_template neoc_templates[] = {{"mlp", neoc_text_mlp_expr, neoc_text_mlp_c},
                                        {"cnn", neoc_text_cnn_expr, neoc_text_cnn_c},
                                        {"charlm", neoc_text_charlm_expr, neoc_text_charlm_c},
                                        {NULL, NULL, NULL}};
