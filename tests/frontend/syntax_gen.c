/* See syntax_gen.h. A function a rule of the grammar; `fuel` bounds the size of one statement. */
#include "syntax_gen.h"

#include <string.h>

typedef struct {
  neo_str *out;
  uint64_t state;
  int fuel, brackets; /* brackets: open ( and [ in this block */
  int depth;          /* of blocks */
} gen;

/* splitmix64 */
static uint64_t next(gen *g) {
  uint64_t z = g->state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

static int pick(gen *g, int n) {
  return (int)(next(g) % (uint64_t)n);
}

static bool one_in(gen *g, int n) {
  return pick(g, n) == 0;
}

/* Space behind a token; a line end or a comment only where the line goes on. */
static void space(gen *g, bool joins) {
  if ((joins || g->brackets) && one_in(g, 12)) {
    neo_str_add(g->out, one_in(g, 3) ? "  # c\n" : "\n");
    neo_str_add(g->out, one_in(g, 4) ? "# own\n " : "   ");
  } else {
    neo_str_add(g->out, one_in(g, 3) ? " " : "  ");
  }
}

static void word(gen *g, const char *text) {
  neo_str_add(g->out, text);
  space(g, false);
}

static void joint(gen *g, const char *text) {
  neo_str_add(g->out, text);
  space(g, true);
}

static void open(gen *g, const char *text) {
  g->brackets++;
  word(g, text);
}

static void close(gen *g, const char *text) {
  g->brackets--;
  word(g, text);
}

static void name(gen *g) {
  static const char *const names[] = {"x",  "y",    "W1",    "state", "input",
                                      "_a", "next", "train", "from",  "longer_name_of_a_tensor"};
  word(g, names[pick(g, 10)]);
}

/* Writes a name that begins no statement. */
static void plain_name(gen *g) {
  static const char *const names[] = {"x", "y", "W1", "h2", "_a", "output_of_the_layer"};
  word(g, names[pick(g, 6)]);
}

static void path(gen *g) {
  plain_name(g);
  while (one_in(g, 5)) {
    joint(g, ".");
    name(g);
  }
}

static void number(gen *g) {
  static const char *const numbers[] = {"0",       "1",   "12",  "0.5", "1e-3",
                                        "2.50E+7", "inf", "nan", "pi"};
  word(g, numbers[pick(g, 9)]);
}

static void expr(gen *g);
static void sum(gen *g);

static void subscripts(gen *g) {
  open(g, "[");
  bool pack = false;
  do {
    if (!pack && one_in(g, 6)) {
      word(g, "..");
      pack = true;
    } else {
      expr(g);
    }
  } while (one_in(g, 2) && (joint(g, ","), true));
  close(g, "]");
}

static void args(gen *g) {
  open(g, "(");
  if (!one_in(g, 6)) {
    expr(g);
    while (one_in(g, 2)) {
      joint(g, ",");
      expr(g);
    }
    if (one_in(g, 3)) {
      joint(g, ",");
      plain_name(g);
      joint(g, "=");
      expr(g);
    }
  }
  close(g, ")");
}

static void atom(gen *g) {
  if (--g->fuel < 0 || one_in(g, 4)) {
    number(g);
  } else if (one_in(g, 10)) {
    word(g, one_in(g, 2) ? "true" : "false");
  } else if (one_in(g, 4)) {
    open(g, "(");
    expr(g);
    if (one_in(g, 3)) {
      word(g, "else");
      expr(g);
    }
    close(g, ")");
  } else {
    path(g);
    if (one_in(g, 4))
      args(g);
    if (one_in(g, 2))
      subscripts(g);
  }
}

static void factor(gen *g) {
  while (one_in(g, 8))
    joint(g, "-");
  atom(g);
  if (one_in(g, 8)) {
    joint(g, "^");
    factor(g);
  }
}

static void range(gen *g, bool *pack) {
  int shape = pick(g, 5);
  if (shape == 0 && !*pack) {
    word(g, "..");
    *pack = true;
    return;
  }
  if (shape == 1) {
    word(g, "0");
    joint(g, "<=");
  }
  plain_name(g);
  if (shape > 2) {
    joint(g, one_in(g, 2) ? "<" : "<=");
    sum(g);
  }
}

static void ranges(gen *g) {
  bool pack = false;
  open(g, "[");
  range(g, &pack);
  while (one_in(g, 2)) {
    joint(g, ",");
    range(g, &pack);
  }
  if (one_in(g, 4)) {
    word(g, "where");
    expr(g);
  }
  g->brackets--;
  joint(g, "]");
}

static void term(gen *g) {
  static const char *const reducers[] = {"sum",    "prod",   "max",       "min",
                                         "argmax", "argmin", "logsumexp", "mean"};
  while (one_in(g, 3) && --g->fuel > 0) {
    factor(g);
    joint(g, "*");
  }
  if (one_in(g, 6) && --g->fuel > 0) {
    if (one_in(g, 5))
      joint(g, "-");
    word(g, reducers[pick(g, 8)]);
    ranges(g);
    term(g);
    return;
  }
  factor(g);
  if (one_in(g, 6)) {
    joint(g, one_in(g, 2) ? "/" : "%");
    factor(g);
  }
}

static void sum(gen *g) {
  term(g);
  while (one_in(g, 3) && --g->fuel > 0) {
    joint(g, one_in(g, 2) ? "+" : "-");
    term(g);
  }
}

static void negation(gen *g) {
  static const char *const comparisons[] = {"==", "!=", "<", "<=", ">", ">="};
  if (one_in(g, 12)) {
    joint(g, "not");
    negation(g);
  } else if (one_in(g, 12)) {
    word(g, one_in(g, 2) ? "any" : "all");
    ranges(g);
    negation(g);
  } else {
    sum(g);
    if (one_in(g, 6)) {
      joint(g, comparisons[pick(g, 6)]);
      sum(g);
    }
  }
}

static void expr(gen *g) {
  negation(g);
  while (one_in(g, 8) && --g->fuel > 0) {
    joint(g, one_in(g, 2) ? "and" : "or");
    negation(g);
  }
}

/* ---- statements ---------------------------------------------------------------------------- */

static void type(gen *g) {
  static const char *const types[] = {"f64", "f32", "f16", "bf16", "i64",
                                      "i32", "i8",  "u8",  "bool"};
  if (!one_in(g, 3))
    return;
  joint(g, ":");
  word(g, types[pick(g, 9)]);
  if (one_in(g, 3)) {
    joint(g, "<");
    sum(g);
  }
}

static void tensor(gen *g, bool declared) {
  plain_name(g);
  if (one_in(g, 2)) {
    open(g, "[");
    bool pack = false;
    do {
      if (!pack && one_in(g, 5)) {
        word(g, "..");
        pack = true;
      } else if (declared && one_in(g, 2)) {
        factor(g);
      } else {
        plain_name(g);
        if (one_in(g, 3)) {
          joint(g, one_in(g, 2) ? "<" : "<=");
          sum(g);
        }
      }
    } while (one_in(g, 2) && (joint(g, ","), true));
    close(g, "]");
  }
  type(g);
}

static void binds(gen *g, bool declared) {
  do {
    tensor(g, declared);
    joint(g, "=");
    expr(g);
  } while (one_in(g, 3) && (joint(g, ","), true));
}

static void statement(gen *g);

static void block(gen *g) {
  neo_str_add(g->out, "{");
  bool flat = one_in(g, 3);
  int n = pick(g, 3);
  neo_str_add(g->out, flat ? " " : one_in(g, 3) ? "  # c\n" : "\n");
  for (int i = 0; i < n; i++) {
    statement(g);
    neo_str_add(g->out, flat && i + 1 < n ? "; "
                        : flat            ? " "
                        : one_in(g, 4)    ? "  # c\n\n\n"
                                          : "\n");
    if (!flat && one_in(g, 5))
      neo_str_add(g->out, "   # own\n");
  }
  neo_str_add(g->out, "} ");
}

static void literal(gen *g, int depth) {
  if (depth == 0 || one_in(g, 3)) {
    if (one_in(g, 4))
      joint(g, "-");
    number(g);
    return;
  }
  open(g, "[");
  do
    literal(g, depth - 1);
  while (one_in(g, 2) && (joint(g, ","), true));
  close(g, "]");
}

static void names(gen *g) {
  plain_name(g);
  while (one_in(g, 3)) {
    joint(g, ",");
    plain_name(g);
  }
}

static void signature(gen *g) {
  plain_name(g);
  open(g, "(");
  if (!one_in(g, 4))
    do
      tensor(g, true);
    while (one_in(g, 3) && (joint(g, ","), true));
  if (one_in(g, 2)) {
    joint(g, ";");
    do {
      if (one_in(g, 3))
        word(g, "input");
      plain_name(g);
      if (one_in(g, 2)) {
        joint(g, "=");
        expr(g);
      }
    } while (one_in(g, 2) && (joint(g, ","), true));
  }
  close(g, ")");
}

static void arms(gen *g) {
  neo_str_add(g->out, "{ ");
  for (int i = pick(g, 3); i > 0; i--) {
    neo_str_add(g->out, one_in(g, 2) ? "\n# own\n" : "");
    word(g, one_in(g, 3) ? "true" : one_in(g, 2) ? "-3" : "1");
    block(g);
  }
  if (one_in(g, 2)) {
    neo_str_add(g->out, "else ");
    block(g);
  }
  neo_str_add(g->out, one_in(g, 2) ? "\n} " : "} ");
}

static void region(gen *g) {
  int kind = pick(g, 4);
  if (kind < 2) {
    word(g, kind ? "scan" : "repeat");
    plain_name(g);
    joint(g, "<");
    sum(g);
    if (kind && one_in(g, 3))
      word(g, "down");
    if (one_in(g, 2)) {
      word(g, "from");
      binds(g, false);
    }
    block(g);
  } else if (kind == 2) {
    word(g, "while");
    expr(g);
    word(g, "limit");
    sum(g);
    word(g, "from");
    binds(g, false);
    block(g);
  } else {
    word(g, "case");
    expr(g);
    arms(g);
  }
}

static void define(gen *g) {
  tensor(g, false);
  if (one_in(g, 5)) {
    joint(g, ",");
    names(g);
  }
  joint(g, "=");
  if (g->depth < 4 && one_in(g, 6))
    region(g);
  else
    expr(g);
}

static void function(gen *g) {
  int kind = pick(g, 3);
  word(g, kind == 0 ? "fn" : kind == 1 ? "optimizer" : "vertex");
  signature(g);
  if (kind == 0) {
    joint(g, "->");
    names(g);
  } else if (kind == 2) {
    word(g, "over");
    plain_name(g);
  }
  block(g);
  if (kind == 0 && one_in(g, 3)) {
    word(g, "grad");
    open(g, "(");
    names(g);
    close(g, ")");
    joint(g, "->");
    names(g);
    block(g);
  }
}

static void paths(gen *g) {
  path(g);
  while (one_in(g, 3)) {
    joint(g, ",");
    path(g);
  }
}

static void output(gen *g) {
  word(g, "output");
  if (one_in(g, 3)) {
    plain_name(g);
    joint(g, ":");
  }
  paths(g);
  if (one_in(g, 4)) {
    word(g, "update");
    paths(g);
  }
}

static void train(gen *g) {
  word(g, "train");
  path(g);
  if (one_in(g, 2)) {
    word(g, one_in(g, 2) ? "over" : "except");
    word(g, one_in(g, 2) ? "*" : "enc.*, dec .b");
  }
  word(g, "using");
  path(g);
  args(g);
}

static void declaration(gen *g) {
  static const char *const words[] = {"input", "param", "state", "const"};
  word(g, words[pick(g, 4)]);
  tensor(g, true);
  joint(g, "=");
  expr(g);
}

static void rare(gen *g) {
  static const char *const texts[] = {
      "import nn, optim as o",
      "collect h, c",
      "push h",
      "dim 0 <= E <= 4096",
      "dim N <= 2*K",
      "input X[B, 28]",
      "const k = [1, -2]",
      "graph G(children <= 2, vertices <= 4096)",
      "graph G(edges <= 900, mod.edges <= 2*K, vertices <= 300)",
      "gather h[G.edges, D], c[G.mod.edges]",
  };
  word(g, texts[pick(g, 10)]);
}

static void statement(gen *g) {
  int brackets = g->brackets;
  g->brackets = 0;
  g->fuel = 30;
  g->depth++;
  switch (pick(g, 10)) {
  case 0:
    declaration(g);
    break;
  case 1:
    output(g);
    break;
  case 2:
    train(g);
    break;
  case 3:
    rare(g);
    break;
  case 4:
    word(g, "assert");
    expr(g);
    break;
  case 5:
    word(g, one_in(g, 2) ? "update" : "next");
    binds(g, false);
    break;
  case 6:
    word(g, "const K =");
    open(g, "[");
    literal(g, 3);
    close(g, "]");
    break;
  case 7:
    if (g->depth < 4)
      function(g);
    else
      define(g);
    break;
  default:
    define(g);
  }
  g->depth--;
  g->brackets = brackets;
}

void gen_program(neo_str *out, uint64_t seed) {
  gen g = {.out = out, .state = seed};
  for (int n = 1 + pick(&g, 4); n > 0; n--) {
    if (one_in(&g, 5))
      neo_str_add(out, "# own\n\n");
    statement(&g);
    neo_str_add(out, one_in(&g, 6) ? ";" : one_in(&g, 6) ? " # c\n" : "\n\n");
  }
}

void gen_token_soup(neo_str *out, uint64_t seed) {
  static const char *const words[] = {
      "input ", "param ", "fn ",      "case ", "scan ",  "while ", "else ",  "where ",  "sum[",
      "any[",   "x",      "y ",       "[",     "]",      "(",      ")",      "{",       "}",
      "..",     ".",      ",",        ";",     "\n",     "\n",     "=",      "==",      "<",
      "<=",     "+",      "-",        "*",     "/",      "^",      "->",     ":",       "3",
      "1.5 ",   "inf ",   "not ",     "and ",  "output", "train ", "using ", "update ", "**",
      "&&",     "\"s",    "\xc3\xa9", "\xff",  "# c\n",  "grad",   "dim ",   "from ",   "limit ",
  };
  enum { N = sizeof words / sizeof *words };
  gen g = {.out = out, .state = seed};
  for (int n = 5 + pick(&g, 60); n > 0; n--)
    neo_str_add(out, words[pick(&g, N)]);
}

void gen_damage(char *text, size_t *n, size_t cap, uint64_t seed) {
  gen g = {.state = seed};
  for (int times = 1 + pick(&g, 4); times > 0 && *n > 1; times--) {
    size_t at = (size_t)pick(&g, (int)*n);
    int what = pick(&g, 4);
    if (what == 0) {
      memmove(text + at, text + at + 1, *n - at - 1);
      --*n;
    } else if (what == 1 && *n < cap) {
      memmove(text + at + 1, text + at, *n - at);
      ++*n;
    } else if (what == 2) {
      text[at] = (char)next(&g);
    } else {
      char c = text[at], *other = text + (size_t)pick(&g, (int)*n);
      text[at] = *other;
      *other = c;
    }
  }
}
