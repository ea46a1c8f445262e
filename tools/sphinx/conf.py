"""Sphinx' settings for tools/site, which copies the tree's pages; README.md is the first of them."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)))
sys.dont_write_bytecode = True
import expr_lexer
import nav

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
FIRST = "README.md"  # is index.md on the site
PAGES = {section: [re.sub(r"\.ipynb$", ".md", p) for p in pages]  # tools/site makes pages of notebooks
         for section, pages in nav.sections(ROOT).items()}

project, html_title, language = "neo", "neo", "en"
extensions = ["myst_parser"]
root_doc = "index"
include_patterns = ["index.md", *(p for pages in PAGES.values() for p in pages if p != FIRST)]
myst_heading_anchors = 5
highlight_language = "none"
html_theme = "furo"
html_static_path = [os.path.join(ROOT, "tools", "sphinx", "static")]
html_css_files = ["neo.css"]
html_copy_source = html_show_sourcelink = html_show_copyright = html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "friendly", "github-dark"
suppress_warnings = ["misc.highlighting_failure"]  # a message of neoc in a block of commands


def document(path):
    return "index" if path == FIRST else path.removesuffix(".md")


def tree_of_pages():
    """The first page's navigation: a list of pages for each section."""
    for section, pages in PAGES.items():
        yield f"```{{toctree}}\n:hidden:\n:caption: {section}\n"
        for path in pages:
            yield "What it is <self>" if path == FIRST else "/" + document(path)
        yield "```\n"


def read(app, name, source):
    """Adds the navigation to the first page, and turns links to README.md into links to that page."""
    if name == root_doc:
        source[0] += "\n" + "\n".join(tree_of_pages())
    source[0] = re.sub(r"\.ipynb\)", ".md)", source[0])  # tools/site made pages of them
    above = "../" * name.count("/")
    source[0] = re.sub(rf"\]\({re.escape(above)}README\.md", f"]({above}index.md", source[0])


def setup(app):
    app.add_lexer("expr", expr_lexer.lexer(os.path.join(ROOT, "editors", "neo.tmLanguage.json")))
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
