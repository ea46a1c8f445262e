/* HTML and SVG as text: elements, attributes, and everything else escaped. What is written is also
 * well-formed XML, so that any parser shows where an element is not closed. */
#pragma once
#include "base/str.h"

/* Escaped; control characters that a page cannot hold become U+FFFD. */
void neoc_html_text(neo_str *out, const char *text);
void neoc_html_textn(neo_str *out, const char *text, size_t n);

/* Attributes are pairs of a name and a value, of which NULL is the end; one whose value is NULL is
 * left out. Elements: with content that follows; without any; with a text. */
void neoc_html_open(neo_str *out, const char *tag, ...) __attribute__((sentinel));
void neoc_html_close(neo_str *out, const char *tag);
void neoc_html_empty(neo_str *out, const char *tag, ...) __attribute__((sentinel));
void neoc_html_leaf(neo_str *out, const char *tag, const char *text, ...) __attribute__((sentinel));

/* <a href="TO">TEXT</a> */
void neoc_html_link(neo_str *out, const char *to, const char *text);
