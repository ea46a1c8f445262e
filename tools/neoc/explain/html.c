#include "tools/neoc/explain/html.h"
#include <stdarg.h>
#include <string.h>

static const char *entity_of(char c) {
  switch (c) {
  case '&':
    return "&amp;";
  case '<':
    return "&lt;";
  case '>':
    return "&gt;";
  case '"':
    return "&quot;";
  default:
    return (unsigned char)c < ' ' && c != '\t' && c != '\n' ? "\xef\xbf\xbd" : NULL;
  }
}

void neoc_html_textn(neo_str *out, const char *text, size_t n) {
  size_t from = 0;
  for (size_t k = 0; k < n; k++) {
    const char *entity = entity_of(text[k]);
    if (!entity)
      continue;
    neo_str_addn(out, text + from, k - from);
    neo_str_add(out, entity);
    from = k + 1;
  }
  neo_str_addn(out, text + from, n - from);
}

static void html_text(neo_str *out, const char *text) {
  neoc_html_textn(out, text, strlen(text));
}

static void begin(neo_str *out, const char *tag, va_list ap) {
  const char *name;
  neo_str_addf(out, "<%s", tag);
  while ((name = va_arg(ap, const char *))) {
    const char *value = va_arg(ap, const char *);
    if (!value)
      continue;
    neo_str_addf(out, " %s=\"", name);
    html_text(out, value);
    neo_str_addc(out, '"');
  }
}

void neoc_html_open(neo_str *out, const char *tag, ...) {
  va_list ap;
  va_start(ap, tag);
  begin(out, tag, ap);
  va_end(ap);
  neo_str_addc(out, '>');
}

void neoc_html_close(neo_str *out, const char *tag) {
  neo_str_addf(out, "</%s>", tag);
}

void neoc_html_empty(neo_str *out, const char *tag, ...) {
  va_list ap;
  va_start(ap, tag);
  begin(out, tag, ap);
  va_end(ap);
  neo_str_add(out, "/>");
}

void neoc_html_leaf(neo_str *out, const char *tag, const char *text, ...) {
  va_list ap;
  va_start(ap, text);
  begin(out, tag, ap);
  va_end(ap);
  neo_str_addc(out, '>');
  html_text(out, text);
  neoc_html_close(out, tag);
}

void neoc_html_link(neo_str *out, const char *to, const char *text) {
  neoc_html_leaf(out, "a", text, "href", to, NULL);
}
