/* HTML and SVG as text: elements and attributes; everything else is escaped. The output is also
 * well-formed XML, so that any parser finds an element that is not closed. */
#pragma once
#include "base/str.h"

/* Escaped text; control characters that a page cannot hold become U+FFFD. */
void neoc_html_textn(neo_str *out, const char *text, size_t n);

/* Elements: open (content follows), empty, leaf (with a text). Attributes are pairs of a name and a
 * value, ended by NULL; an attribute whose value is NULL is left out. */
void neoc_html_open(neo_str *out, const char *tag, ...) __attribute__((sentinel));
void neoc_html_close(neo_str *out, const char *tag);
void neoc_html_empty(neo_str *out, const char *tag, ...) __attribute__((sentinel));
void neoc_html_leaf(neo_str *out, const char *tag, const char *text, ...) __attribute__((sentinel));

/* <a href="TO">TEXT</a> */
void neoc_html_link(neo_str *out, const char *to, const char *text);
