/* The grammars of editors/ have every word of the language, by its own tables; in the Vim file and
 * in the TextMate file each stands in the list of its kind. */
#include "base/file.h"
#include "base/json.h"
#include "frontend/sema/parts.h"
#include "frontend/syntax/lexer.h"
#include "parse_test.h"
#include <ctype.h>
#include <string.h>

static bool is_word(char c) {
  return isalnum((unsigned char)c) || c == '_';
}

/* Does the line have the word, by itself? */
static bool has_word(const char *line, size_t n, const char *word) {
  size_t length = strlen(word);
  for (size_t k = 0; k + length <= n; k++) {
    bool before = k > 0 && is_word(line[k - 1]) && !(k > 1 && line[k - 2] == '\\');
    if (memcmp(line + k, word, length) == 0 && !before &&
        (k + length == n || !is_word(line[k + length])))
      return true;
  }
  return false;
}

typedef struct {
  const char *path, *text;
} grammar;

/* Some line that contains `kind` has the word too. */
static void expect_word(const grammar *g, const char *kind, const char *word) {
  for (const char *line = g->text; *line;) {
    size_t n = strcspn(line, "\n");
    const char *at = strstr(line, kind);
    if (at && at < line + n && has_word(line, n, word))
      return;
    line += n + (line[n] == '\n');
  }
  fail_msg("%s: no line with '%s' has '%s'", g->path, kind, word);
}

typedef struct { /* what marks the lines of a kind: in Vim's file, in TextMate's */
  const char *statement, *reserved, *reducer, *type, *builtin, *value;
} marks;

static const marks vim = {"neoStatement", "neo",         "neoReducer",
                          "neoType",      "neoFunction", "neoConstant"};
static const marks textmate = {"import|", "(", "sum|", "f64|", "abs|", "training|"};

static void check_words(const grammar *g, const marks *m) {
  for (neo_ast_stmt_kind k = 0; k < NEO_AST_STMT_KINDS; k++)
    if (neo_ast_stmt_word(k))
      expect_word(g, m->statement, neo_ast_stmt_word(k));
  for (neo_tok k = 0; k < NEO_TOK_NAME; k++)
    if (neo_tok_text(k) && isalpha((unsigned char)neo_tok_text(k)[0]))
      expect_word(g, m->reserved, neo_tok_text(k));
  for (neo_ast_reducer r = 0; r < NEO_AST_RED_COUNT; r++)
    expect_word(g, m->reducer, neo_ast_reducer_text(r));
#define X(name, text, size, kind) expect_word(g, m->type, text);
#include "ir/types.def"
#undef X
  for (uint32_t k = 0; neo_builtin_name(k); k++) {
    const char *name = neo_builtin_name(k);
    neo_type t;
    bool value = neo_streq(name, "training") || neo_streq(name, "step");
    expect_word(g, value ? m->value : neo_type_of_text(name, &t) ? m->type : m->builtin, name);
  }
}

static grammar read_grammar(neo_arena *a, const char *name) {
  grammar g = {.path = name};
  char *text, *path = neo_path_join(a, NEO_TEST_SOURCE_DIR "/editors", name);
  size_t n;
  assert_int_equal(neo_file_read(&neo_io_default, a, path, 0, &text, &n), NEO_OK);
  g.text = neo_arena_strndup(a, text, n);
  return g;
}

static void vim_has_every_word(void **state) {
  parsing *p = *state;
  grammar g = read_grammar(&p->arena, "vim/syntax/neo.vim");
  check_words(&g, &vim);
}

static void textmate_has_every_word_and_is_json(void **state) {
  parsing *p = *state;
  grammar g = read_grammar(&p->arena, "neo.tmLanguage.json");
  neo_json *json;
  check_words(&g, &textmate);
  assert_int_equal(neo_json_parse(g.text, strlen(g.text), &json), NEO_OK);
  neo_json_free(json);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      PARSING(vim_has_every_word),
      PARSING(textmate_has_every_word_and_is_json),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
