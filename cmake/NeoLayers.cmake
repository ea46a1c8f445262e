# neo_add_layer(<folder> LINKS <targets>): the *.c of the folder and of those in it as the static library neo_<folder>;
# an INTERFACE library while the folder is empty.
function(neo_add_layer folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINKS")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.c)
  neo_add_static(neo_${folder} "${sources}" "${arg_LINKS}")
endfunction()

function(neo_add_static target sources links)
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC neo_flags ${links} m)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE neo_flags ${links})
  endif()
endfunction()
