/* One `.expr` file as the parser sees it, for commands that use text alone. */
#pragma once
#include "frontend/syntax/parser.h"
#include "tools/neoc/neoc.h"

typedef struct {
  char *text;
  size_t n; /* bytes of the text */
  neo_sources *sources;
  neo_ast_file *file;
} neoc_source;

/* Reads and parses the file; errors are printed. Everything is in the command's arena. */
neoc_exit neoc_source_read(neoc_cli *cli, const char *path, neoc_source *s);
