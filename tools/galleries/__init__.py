"""What tools/gallery is made of: models.py, figures.py (measures), library.py (calls compiled models), pictures.py, pages.py."""
