"""The parts of tools/gallery: models.py, figures.py (measures), library.py (calls compiled models), pictures.py, pages.py."""
