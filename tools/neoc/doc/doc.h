/* The reference of a module, made from its comments. Private to tools/neoc/doc.
 *
 *     # y = x W + b, over the last dimension.
 *     #
 *     #   input x[8, 5]
 *     #   y = nn.linear(x, out = 3)
 *     fn linear(x[.., I] : real; out) -> y {
 *
 * A block of comments is consecutive lines that begin with `#`. The block right above a function
 * belongs to it; a block that begins with `# ----` names a section, with the rest of the block as
 * its introduction; the first block of a file introduces the module. Lines indented by two more are
 * code. A function whose block has code, which is then an example of its use, is listed; a function
 * without code is a part of others. */
#pragma once
#include "tools/neoc/source.h"

typedef struct { /* a block, with its `#`; may be empty */
  const char *at;
  size_t n;
} doc_block;

typedef struct { /* an item of a page, in the order of the file */
  doc_block block;
  const neo_ast_stmt *fn; /* null: a section, or the introduction of the module */
  uint32_t functions;     /* for a section: number of listed functions */
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
/* The title of a section; empty if the block is no section. */
doc_block doc_title(doc_block b);
/* The next line, without its `#` and one space; *rest becomes the lines after it. */
doc_block doc_line(doc_block *rest);
bool doc_is_code(doc_block line);

/* ---- text.c: Markdown */
/* Adds a block. An example also gets the imports of the modules whose functions it calls. */
void doc_add_block(doc_page *p, doc_block b, bool example);
/* Adds a space and the word or, if the word does not fit, a line end and the word. */
void doc_add_word(doc_page *p, const char *word);
