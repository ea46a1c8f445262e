"""Is every field of the compiler's options listed with how it counts in the key of the code cache?

    python3 tests/cache_key.py SOURCES

reads the struct neo_compile_options in tools/pipeline/compile.h and the table
tools/pipeline/code_key.def, in which each field has to stand once, in the same order. Tests of the
table's meaning are in tests/tools/test_compile_cache.c.
"""
import os
import re
import sys


def struct_fields(text):
    end = text.index("} neo_compile_options;")
    begin = text.rindex("typedef struct {", 0, end) + len("typedef struct {")
    body = re.sub(r"/\*.*?\*/", "", text[begin:end], flags=re.S)
    fields = []
    for declaration in body.split(";"):
        declaration = declaration.strip()
        function = re.search(r"\(\*(\w+)\)\s*\(", declaration)
        if function:
            fields.append(function.group(1))
        elif declaration:
            parts = [part.strip() for part in declaration.split(",")]
            fields += [re.search(r"(\w+)$", part).group(1) for part in parts]
    return fields


def main():
    folder = os.path.join(sys.argv[1], "tools", "pipeline")
    with open(os.path.join(folder, "compile.h"), encoding="utf-8") as file:
        fields = struct_fields(file.read())
    with open(os.path.join(folder, "code_key.def"), encoding="utf-8") as file:
        rows = re.findall(r"^X\((\w+), \w+\)$", file.read(), flags=re.M)
    assert len(fields) > 30, fields
    missing = [name for name in fields if name not in rows]
    unknown = [name for name in rows if name not in fields]
    if missing:
        print("options without a row in code_key.def:", *missing)
    if unknown:
        print("rows of code_key.def without an option:", *unknown)
    if not missing and not unknown and rows != fields:
        print("code_key.def has another order than the struct:", *rows)
    return 1 if rows != fields else 0


sys.exit(main())
