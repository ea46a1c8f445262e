/* The text form of networks. */
#include "tests/network/world.h"
#include <stdio.h>
#include <string.h>

static const char model[] =
    "import nn, optim\ndim B <= 6\ninput to[B, 5]\ninput Y[B] : i32 < 4\ninput rate\n"
    "optimizer by(w[..], g[..], r : f32) {\n update w[..] = w[..] - r*g[..] }\n"
    "a = nn.linear(to, out = 6)\nb = nn.linear(a, out = 6)\nh[n, j] = a[n, j] + b[n, j]*a[n, j]\n"
    "L = nn.linear(h, out = 4)\nloss = nn.cross_entropy(L, Y)\n"
    "train loss using by(rate)\n";

static const char *text_of(world *w, const neo_network *n) {
  neo_str s = neo_str_in(&w->c.arena);
  neo_network_print(n, &s);
  return neo_str_text(&s);
}

static neo_network *parse(world *w, const char *text) {
  return neo_network_parse(&w->c.arena, w->c.names, w->c.diags, "m.net", text, strlen(text));
}

static void open_model(world *w) {
  world_model x = {.text = model};
  world_open(w, NEO_TEST_SOURCE_DIR, &x);
}

static void printed_and_parsed_it_prints_the_same(void **state) {
  world w;
  (void)state;
  open_model(&w);
  const char *text = text_of(&w, w.n);
  neo_network *n = parse(&w, text);
  assert_non_null(n);
  assert_string_equal(text, text_of(&w, n));
  world_close(&w);
}

static void a_parsed_network_is_the_step(void **state) {
  world w;
  (void)state;
  open_model(&w);
  w.n = parse(&w, text_of(&w, w.n));
  assert_non_null(w.n);
  world_begin(&w, 2);
  for (uint64_t k = 0; k < 3; k++) {
    world_fill(&w, k);
    world_step(&w, 1e-6);
  }
  world_close(&w);
}

/* Texts with one character or one line left out are refused, or are networks. */
static void broken_texts_are_refused(void **state) {
  world w;
  (void)state;
  open_model(&w);
  char *text = neo_arena_strdup(&w.c.arena, text_of(&w, w.n));
  size_t n = (size_t)(strstr(text, "\nmodule 0") - text), refused = 0;
  for (size_t k = 0; k < n; k += 3) {
    char was = text[k];
    size_t errors = neo_diags_errors(w.c.diags);
    text[k] = was == '\n' ? 'x' : '\n';
    bool good = parse(&w, text) != NULL;
    text[k] = was;
    assert_true(good == (neo_diags_errors(w.c.diags) == errors));
    refused += !good;
  }
  assert_true(refused > n / 5);
  world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(printed_and_parsed_it_prints_the_same),
      cmocka_unit_test(a_parsed_network_is_the_step),
      cmocka_unit_test(broken_texts_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
