# libneort: runtime/*/*.c and what it needs of base, with zlib inside.
#   neort_shared  libneort.so.0; exports neo_rt_* only
#   neort_static  the plain archive that our own tools and tests link (internals visible)
#   neort_bundle  lib/libneort.a for users: one object whose only global names are neo_rt_*

find_package(Threads REQUIRED)
file(GLOB neort_sources CONFIGURE_DEPENDS runtime/*/*.c)
file(GLOB neort_base CONFIGURE_DEPENDS base/*.c)
list(FILTER neort_base EXCLUDE REGEX "/(json|diag[a-z_]*)\\.c$")

if(NOT neort_sources)
  add_library(neort_static INTERFACE)
  target_link_libraries(neort_static INTERFACE neo_base)
  return()
endif()

add_library(neort_objects OBJECT ${neort_sources} ${neort_base})
target_link_libraries(neort_objects PUBLIC neo_flags xxhash Threads::Threads m ${CMAKE_DL_LIBS}
                                    PRIVATE zlib_static)
target_compile_options(neort_objects PRIVATE -ffunction-sections -fdata-sections)
set_target_properties(neort_objects PROPERTIES C_VISIBILITY_PRESET hidden)

add_library(neort_static STATIC)
target_link_libraries(neort_static PUBLIC neort_objects zlib_static)
set_target_properties(neort_static PROPERTIES OUTPUT_NAME neort_plain)

add_library(neort_shared SHARED)
target_link_libraries(neort_shared PRIVATE neort_objects zlib_static)
target_link_options(neort_shared PRIVATE -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--as-needed)
if(NOT NEO_SANITIZE) # their symbols come from the program
  target_link_options(neort_shared PRIVATE -Wl,--no-undefined)
endif()
set_target_properties(neort_shared PROPERTIES OUTPUT_NAME neort SOVERSION 0
                                              VERSION ${PROJECT_VERSION})

set(NEORT_BUNDLE ${CMAKE_BINARY_DIR}/lib/libneort.a)
set(bundle_object ${CMAKE_BINARY_DIR}/neort_bundle.o)
add_custom_command(OUTPUT ${NEORT_BUNDLE}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/lib
  COMMAND ${CMAKE_LINKER} -r -o ${bundle_object} $<TARGET_OBJECTS:neort_objects>
          ${NEO_zlib_static_LIBRARY}
  COMMAND ${CMAKE_OBJCOPY} --wildcard "--keep-global-symbol=neo_rt_*" ${bundle_object}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${NEORT_BUNDLE}
  COMMAND ${CMAKE_AR} rcsD ${NEORT_BUNDLE} ${bundle_object}
  DEPENDS neort_objects $<TARGET_OBJECTS:neort_objects>
  COMMAND_EXPAND_LISTS VERBATIM COMMENT "Bundling lib/libneort.a")
add_custom_target(neort_bundle ALL DEPENDS ${NEORT_BUNDLE})
