/* What `neoc new` writes. '@' stands for the project's name. */
#ifndef NEO_TOOLS_NEOC_NEW_TEMPLATES_H
#define NEO_TOOLS_NEOC_NEW_TEMPLATES_H

typedef struct {
  const char *name, *model, *main;
} neoc_template;
extern const neoc_template neoc_templates[]; /* ends with a null name */
extern const char neoc_template_cmake[], neoc_template_readme[];
/* Of a model that comes with the compiler. The page is a format: what the model is, its name, its lines of sizes, graphs and inputs. */
extern const char neoc_template_model_main[], neoc_template_model_readme[];

#endif
