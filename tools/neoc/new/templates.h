/* The files that `neoc new` writes. '@' stands for the project's name. */
#pragma once

typedef struct {
  const char *name, *model, *main;
} neoc_template;
extern const neoc_template neoc_templates[]; /* ends with a null name */

/* Texts of the files in the folder templates. */
extern const char neoc_text_mlp_expr[], neoc_text_mlp_c[], neoc_text_cnn_expr[], neoc_text_cnn_c[];
extern const char neoc_text_charlm_expr[], neoc_text_charlm_c[];
extern const char neoc_text_CMakeLists_txt[], neoc_text_README_md[];
/* Files for a model that comes with the compiler. The page is a format with these arguments: the
 * model's description, its name, its lines of sizes, graphs and inputs. */
extern const char neoc_text_zoo_c[], neoc_text_zoo_README_md[];
