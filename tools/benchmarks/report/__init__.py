"""Results as files, tables, figures and the page of the documentation."""
