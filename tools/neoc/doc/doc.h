/* Private to tools/neoc/doc: the reference of a module, made of its comments.
 *
 *     # y = x W + b, over the last dimension.
 *     #
 *     #   input x[8, 5]
 *     #   y = nn.linear(x, out = 3)
 *     fn linear(x[.., I] : real; out) -> y {
 *
 * A block of comments is lines that begin with `#` and follow each other. The one right above a function
 * belongs to it; the one that begins with `# ----` names a section, with what stands behind as its
 * introduction; the first one of a file introduces the module. Lines that are indented by two more are code.
 * A function whose block has code, which is then an example of its use, is listed; one without is a
 * part of others. */
#pragma once
#include "tools/neoc/source.h"

typedef struct { /* a block, with its `#`; empty: there is none */
  const char *at;
  size_t n;
} doc_block;

typedef struct { /* of a page, in the order of the file */
  doc_block block;
  const neo_ast_stmt *fn; /* null: a section, or what introduces the module */
  uint32_t functions;     /* of a section: how many are listed */
} doc_entry;
typedef NEO_VEC(doc_entry) doc_entries;

typedef struct {
  neoc_cli *cli;
  const neoc_source *source;
  const char *module; /* its name */
  doc_entries entries;
  neo_str out;
} doc_page;

/* ---- blocks.c: comments */
/* Fills the entries of a page. */
void doc_entries_find(doc_page *p);
/* The title of a section, empty if the block is none. */
doc_block doc_title(doc_block b);
/* A line without its `#` and one space, and the rest of the block behind it. */
doc_block doc_line(doc_block *rest);
bool doc_is_code(doc_block line);
bool doc_says(doc_block b, const char *words);

/* ---- text.c: Markdown */
/* An example gets the import of the modules whose functions it calls. */
void doc_add_block(doc_page *p, doc_block b, bool example);
/* A space or, where the word does not fit, a line end before it. */
void doc_add_word(doc_page *p, const char *word);

/* ---- function.c: what the syntax tree says */
void doc_add_function(doc_page *p, const doc_entry *e);
