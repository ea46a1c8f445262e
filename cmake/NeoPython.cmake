# The Python package neoc: the module neoc._core (python/src) in C, and python/neoc.
#
# In the build tree python/neoc holds the module and links to the sources, so that
# PYTHONPATH=BUILD/python is enough. `pip install .` (scikit-build-core) builds the same and installs it as
# the package neoc, with what neoc has in an installation in its folder _neo: lib, include, share, bin.
#
# From Python 3.11 on, the module uses the limited API and one binary serves all later versions.

if(SKBUILD)
  set(Python3_EXECUTABLE ${Python_EXECUTABLE})
else()
  # numpy of the distribution belongs to its own Python, which may not be the first one in PATH.
  find_program(NEO_PYTHON NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH
               DOC "the Python that the module neoc._core is built for")
  if(NEO_PYTHON)
    set(Python3_EXECUTABLE ${NEO_PYTHON})
  endif()
endif()
find_package(Python3 3.9 QUIET COMPONENTS Interpreter Development.Module)
if(NOT Python3_Development.Module_FOUND OR NOT TARGET neo_shared)
  message(STATUS "the Python package is left out: headers of Python >= 3.9 are missing")
  return()
endif()
message(STATUS "Python ${Python3_VERSION} (${Python3_EXECUTABLE})")

file(GLOB core_sources CONFIGURE_DEPENDS python/src/*.c)
add_library(neo_python MODULE ${core_sources})
target_link_libraries(neo_python PRIVATE neo_flags neo_shared Threads::Threads)
target_include_directories(neo_python SYSTEM PRIVATE ${Python3_INCLUDE_DIRS})
# What a kernel throws goes through its frame (torch_shim.c).
set_source_files_properties(python/src/torch_shim.c PROPERTIES COMPILE_OPTIONS -fexceptions)
set(suffix ".${Python3_SOABI}.so")
if(Python3_VERSION VERSION_GREATER_EQUAL 3.11 AND NOT Python3_SOABI MATCHES "^cpython-3[0-9]+t")
  target_compile_definitions(neo_python PRIVATE Py_LIMITED_API=0x030b0000)
  set(suffix ".abi3.so")
endif()
set(package ${CMAKE_BINARY_DIR}/python/neoc)
set_target_properties(neo_python PROPERTIES PREFIX "" OUTPUT_NAME _core SUFFIX ${suffix}
  C_VISIBILITY_PRESET hidden INSTALL_RPATH "$ORIGIN/_neo/lib" INSTALL_RPATH_USE_LINK_PATH OFF
  LIBRARY_OUTPUT_DIRECTORY ${package})

# The sources of the package, as links.
file(GLOB_RECURSE python_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/neoc
     python/neoc/*.py python/neoc/*.pyi python/neoc/py.typed)
foreach(file IN LISTS python_files)
  cmake_path(GET file PARENT_PATH folder)
  file(MAKE_DIRECTORY ${package}/${folder})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/neoc/${file} ${package}/${file} SYMBOLIC)
endforeach()
file(CREATE_LINK ${CMAKE_BINARY_DIR} ${package}/_neo SYMBOLIC)

# What a wheel has, as the component `python`, which no other installation takes: cmake --install BUILD
# --component python --prefix FOLDER makes the package there. A wheel has no symbolic links, so libraries are files
# of the names by which they are asked for.
set(inside neoc/_neo)
set(core_file $<TARGET_FILE_NAME:neo_python>)
install(TARGETS neo_python LIBRARY DESTINATION neoc COMPONENT python EXCLUDE_FROM_ALL)
install(CODE "
  set(to \"\${CMAKE_INSTALL_PREFIX}/${inside}\")
  file(MAKE_DIRECTORY \"\${to}/lib\" \"\${to}/bin\")
  foreach(pair IN ITEMS
      \"$<TARGET_FILE:neo_shared>|lib/libneo.so.0\" \"$<TARGET_FILE:neort_shared>|lib/libneort.so.0\"
      \"$<TARGET_FILE:neort_shared>|lib/libneort.so\" \"$<TARGET_FILE:neo-measure>|bin/neo-measure\")
    string(REPLACE \"|\" \";\" pair \"\${pair}\")
    list(GET pair 0 from)
    list(GET pair 1 name)
    file(COPY_FILE \"\${from}\" \"\${to}/\${name}\")
    execute_process(COMMAND ${CMAKE_STRIP} \"\${to}/\${name}\" COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  execute_process(COMMAND ${CMAKE_STRIP} \"\${CMAKE_INSTALL_PREFIX}/neoc/${core_file}\")
  " COMPONENT python EXCLUDE_FROM_ALL)
install(FILES ${NEORT_BUNDLE} DESTINATION ${inside}/lib COMPONENT python EXCLUDE_FROM_ALL)
install(DIRECTORY include/neo DESTINATION ${inside}/include COMPONENT python EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN *.h)
install(DIRECTORY models/std models/zoo docs/gallery DESTINATION ${inside}/share/neo
        COMPONENT python EXCLUDE_FROM_ALL FILES_MATCHING PATTERN *.expr)
install(DIRECTORY models/records DESTINATION ${inside}/share/neo COMPONENT python EXCLUDE_FROM_ALL
        FILES_MATCHING PATTERN *.records)
if(NOT SKBUILD) # which takes them by itself
  install(DIRECTORY python/neoc/ DESTINATION neoc COMPONENT python EXCLUDE_FROM_ALL
          PATTERN __pycache__ EXCLUDE)
endif()
