/* neoc: the driver. cli/ is shared by commands, csv/ reads tables of data. Each command is a
 * function in a file or a folder of its name, and knows no other command but those whose header it
 * includes; commands.c has the table of commands, and execute.c runs them. Only commands print;
 * nothing below tools does. program/ has what the program alone does (it watches itself in a
 * child); everything else is also a part of libneo, which uses it to parse options and to explain,
 * and offers all commands as one function. */
#pragma once
#include "tools/cache/usage.h"
#include "tools/pipeline/compile.h"

typedef enum {
  NEOC_OK = 0,
  NEOC_FAILED = 1, /* errors in the input, or a failed check */
  NEOC_USAGE = 2,
  NEOC_IO = 3,
  NEOC_DEVICE = 4, /* this machine cannot do it: features or memory are missing */
  NEOC_INTERNAL = 70,
  NEOC_INTERRUPTED = 130 /* results are kept */
} neoc_exit;

typedef enum {
#define X(id, name, letter, value, commands, meaning) NEOC_O_##id,
#include "tools/neoc/options.def"
#undef X
  NEOC_O_COUNT
} neoc_option;

typedef NEO_VEC(const char *) neoc_texts;

typedef struct {       /* progress of a compilation, on a terminal */
  double begun, shown; /* seconds; shown 0: there is no line */
} neoc_progress;

struct neoc_cli;
typedef struct {                          /* actions of the program neoc alone */
  neoc_exit (*run)(struct neoc_cli *cli); /* runs a command that compiles, in a child */
  /* Writes the input of a compilation that met a bug into a file, and returns its path; null:
   * none. */
  const char *(*reproduce)(struct neoc_cli *cli, const char *why);
} neoc_program;

typedef struct neoc_cli {
  neo_arena *arena;
  const neoc_program *program; /* null: neoc is a function of another program */
  neo_str *told;               /* failures go here; null: to stderr */
  const struct neoc_command *command;
  neoc_texts value[NEOC_O_COUNT]; /* in the order given; "" for options without a value */
  char **args;
  int n_args;
  bool json, colour;
  neoc_progress *progress; /* null: not shown */
} neoc_cli;

typedef struct neoc_command {
  const char *name;
  neoc_exit (*run)(neoc_cli *cli);
} neoc_command;

#define X(id, name, args, function, meaning) neoc_exit function(neoc_cli *cli);
#include "tools/neoc/commands.def"
#undef X

/* ---- cli/values.c: options' values */
/* Whether the command line has the option. */
bool neoc_has(const neoc_cli *cli, neoc_option o);
/* The last value of an option, owned by the command line; `otherwise` (may be null) without one. */
const char *neoc_text(const neoc_cli *cli, neoc_option o, const char *otherwise);
/* Numbers; a wrong value is reported, and *e set to NEOC_USAGE. */
int64_t neoc_int(const neoc_cli *cli, neoc_option o, int64_t otherwise, int64_t lo, neoc_exit *e);
/* The same for a number of threads or the like, which fits i32. */
int32_t neoc_count(const neoc_cli *cli, neoc_option o, int32_t otherwise, int32_t lo, neoc_exit *e);
/* The last value of an option as a number; `otherwise` without one. A wrong value is reported, and
 * *e set to NEOC_USAGE. */
double neoc_real(const neoc_cli *cli, neoc_option o, double otherwise, neoc_exit *e);
/* All words of comma lists, over all uses of the option. */
neoc_texts neoc_words(const neoc_cli *cli, neoc_option o);
/* Reports options that take a value but have none, and lists with an empty name. */
neoc_exit neoc_values_check(const neoc_cli *cli);
/* "name=value" -> name (in the arena), *value; null if there is no '='. */
char *neoc_pair(const neoc_cli *cli, const char *text, const char **value);
/* Reports two words NAME=VALUE with the same name. */
neoc_exit neoc_pairs_differ(const neoc_cli *cli, const char *option, neoc_texts words);
/* cli/sizes.c: stores the values of --size in sizes[size id]; other elements are not changed. */
neoc_exit neoc_read_sizes(const neoc_cli *cli, const neo_module *m, int64_t *sizes);
/* The sizes of a model, by number, in the arena: the given ones, and the largest of the others.
 * Null: none was given. */
neoc_exit neoc_read_model_sizes(const neoc_cli *cli, const neo_rt_model *m, int64_t **sizes);

/* Parse the whole text as a number that the type has; false: it is none, *x is then not defined. */
bool neoc_parse_int(const char *text, int64_t *x);
bool neoc_parse_bytes(const char *text, int64_t *x); /* "512", "64K", "3G" */
bool neoc_parse_seed(const char *text, uint64_t *x);
bool neoc_parse_real(const char *text, double *x); /* also a fraction: 1/255; not NaN */
/* A number as written. Integers are exact, as f64 does not have all of them. */
typedef struct {
  bool whole; /* written without point and exponent: its value is i */
  int64_t i;
  double f; /* the nearest */
} neoc_number;
/* Parses the number at the beginning of `text`, NaN included; false: there is none, or one that f64
 * lacks (1e999). *end is the rest of the text. *end points into the text. */
bool neoc_read_number(const char *text, const char **end, neoc_number *x);

/* ---- cli/fail.c: failures and texts */
/* Prints "neoc: ..." or "neoc run: ..." on stderr; returns `code`. */
neoc_exit neoc_fail(const neoc_cli *cli, neoc_exit code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Prints such a message about the command line; returns NEOC_USAGE. */
neoc_exit neoc_usage(const neoc_cli *cli, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The exit code for a status. */
neoc_exit neoc_exit_of(neo_status s);
/* "512 B", "864.0 KiB", "14.2 MiB"; in the arena. */
const char *neoc_bytes_text(neo_arena *a, int64_t n);
/* The only positional argument; null after a usage error. */
const char *neoc_model_path(neoc_cli *cli, neoc_exit *e);
/* Whether a text ends with `end`. */
bool neoc_ends_with(const char *text, const char *end);

/* ---- cli/memory_text.c */
/* The memory of each entry, one line each; in the arena. */
const char *neoc_memory_text(neo_arena *a, const neo_summary *made);

/* ---- cli/native.c */
/* Replaces "nvptx:native" (null: a processor) by the name of this machine's first GPU. */
neoc_exit neoc_native_gpu(neoc_cli *cli, const char **target);

/* ---- cli/passes.c */
/* Reports a usage error of --`option` unless `name` is a pass, or is `other` (may be null). */
neoc_exit neoc_pass_check(const neoc_cli *cli, const char *option, const char *name,
                          const char *other);
/* Applies --skip-pass, --passes, --dump-after and --no-verify. */
neoc_exit neoc_pass_options(neoc_cli *cli, neo_compile_options *o);

/* ---- cli/compile_options.c */
/* Turns options of the command line into those of the pipeline. These point into the arena and into
 * `cli`, which must live as long. */
neoc_exit neoc_compile_options(neoc_cli *cli, const char *path, neo_compile_options *out);
/* Applies --emit and --runtime, for `compile`. */
neoc_exit neoc_emit_options(neoc_cli *cli, neo_compile_options *out);

/* ---- cli/fail.c */
/* Erases the line of progress, before anything else is printed. */
void neoc_progress_clear(const neoc_cli *cli);

/* ---- cli/report.c */
/* Prints the diagnostics and, after a failure, its reason; an internal error leaves a reproducer.
 * `results` (may be null) are further members of the JSON object: "\"a\": 1". */
neoc_exit neoc_report(const neoc_cli *cli, neo_compilation *c, neo_status s, const char *results);
/* Prints the number of checked facts on stderr, if checks were asked for, or some were left out. */
void neoc_report_facts(const neoc_cli *cli, const neo_compilation *c);
