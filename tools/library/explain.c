/* The output of `neoc explain` for a build. The build has no IR any more: its request is compiled
 * again, as far as the explanation needs, and its outputs are compared with the build's. */
#include "tools/neoc/explain/explain.h"
#include "base/deep.h"
#include "tools/library/build.h"
#include "tools/library/mode.h"
#include "tools/neoc/commands.h"
#include <string.h>

typedef struct {
  const neo_build *build;
  neo_arena arena;
  jmp_buf on_fail;
  neo_compilation c;
  neo_str text, told;
  const char *what;
  char *out;
} explainer;

/* Reads what is asked for: "groups" as the option --groups of `neoc explain`; "ir", "html" and
 * "memory" need no option. */
static neoc_exit read_what(explainer *x, neoc_cli *cli, const char *what) {
  char *word = neo_arena_printf(&x->arena, "--%s", what);
  bool none = neo_streq(what, "ir") || neo_streq(what, "html") || neo_streq(what, "memory");
  neoc_exit e = neoc_options_read(cli, "explain", none ? 0 : 1, &word);
  const char *after = neoc_text(cli, NEOC_O_AFTER, NULL);
  return !e && after ? neoc_pass_check(cli, "after", after, "front") : e;
}

/* Checks that the sources have not changed since the build. */
static neo_status compare(const explainer *x) {
  const neo_plan *p = x->c.plan;
  return p && x->build->source_hash && !neo_streq(p->source_hash, x->build->source_hash) ? NEO_STATE
                                                                                         : NEO_OK;
}

/* Adds the page or the memory, which need the plan. */
static neo_status add_plan(explainer *x, neoc_cli *cli, const char *what) {
  bool memory = neo_streq(what, "memory");
  if (!memory && !neo_streq(what, "html"))
    return NEO_OK;
  neo_str_init(&x->text, &x->arena);
  neo_status s = neo_compile_kernels(&x->c);
  if (!s && memory) {
    neo_summary made = neo_compile_summary(&x->c);
    neo_str_add(&x->text, neoc_memory_text(&x->arena, &made));
  }
  return s || memory ? s : neoc_explain_page(cli, &x->c, NULL, &x->text);
}

static neo_status explain(explainer *x, const char *what) {
  neo_compile_options o;
  const char *wrong = NULL;
  neoc_cli cli = {.arena = &x->arena, .told = &x->told};
  if (read_what(x, &cli, what))
    return NEO_ARGUMENT;
  neo_status s = neo_request_read(&x->arena, &x->build->request, "code", &o, &wrong);
  if (s) {
    neo_str_add(&x->told, wrong);
    return s;
  }
  o.no_folder = !x->build->beside_file;
  o.in_memory = true;
  s = neoc_explain_by(&cli, &o, &x->c, &x->text);
  if (!s)
    s = add_plan(x, &cli, what);
  if (!s && compare(x)) {
    neo_str_add(&x->told, "the files of the model have changed since it was built");
    return NEO_STATE;
  }
  return s;
}

static char *take(explainer *x, neo_status s) {
  if (!s)
    return neo_text_take(neo_str_text(&x->text), x->text.n);
  neo_str_init(&x->text, &x->arena);
  neo_text_of(&x->c, s, false, &x->text);
  if (x->told.n)
    neo_str_addf(&x->text, "neo: %s\n", neo_str_text(&x->told));
  return neo_text_take(neo_str_text(&x->text), x->text.n);
}

/* Runs on a deep stack: printing recurses as deep as a program is long. */
static void run(void *ctx) {
  explainer *x = ctx;
  if (setjmp(x->on_fail)) {
    x->out = neo_text_no_memory();
  } else {
    neo_arena_init(&x->arena, neo_alloc_default, &x->on_fail);
    neo_str_init(&x->text, &x->arena);
    neo_str_init(&x->told, &x->arena);
    x->out = take(x, explain(x, x->what));
  }
  neo_compilation_free(&x->c);
  neo_arena_free(&x->arena);
}

char *neo_build_explain(const neo_build *build, const char *what) {
  explainer x;
  if (build->failure && !build->request.struct_size)
    return neo_text_take(build->messages, strlen(build->messages)); /* the request was refused */
  memset(&x, 0, sizeof x);
  x.build = build;
  x.what = what ? what : "ir";
  neo_mode before = neo_mode_enter();
  neo_deep_run(run, &x);
  neo_mode_leave(&before);
  return x.out;
}
