# cmake --install: neoc, libneort (shared and static), headers, the shipped library of expressions,
# find_package(neo), pkg-config.

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/neo)

if(TARGET neort_shared)
  install(TARGETS neort_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES ${NEORT_BUNDLE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET neo_shared)
  install(TARGETS neo_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
foreach(tool IN ITEMS neoc neo-cache neo-measure)
  if(TARGET ${tool})
    install(TARGETS ${tool} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()
install(DIRECTORY include/neo DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN *.h)
install(DIRECTORY models/std DESTINATION ${CMAKE_INSTALL_DATADIR}/neo FILES_MATCHING
        PATTERN *.expr)
install(DIRECTORY models/records DESTINATION ${CMAKE_INSTALL_DATADIR}/neo FILES_MATCHING
        PATTERN *.records)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

configure_package_config_file(cmake/neoConfig.cmake.in ${CMAKE_BINARY_DIR}/package/neoConfig.cmake
  INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/neoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/neoConfig.cmake
              ${CMAKE_BINARY_DIR}/package/neoConfigVersion.cmake
              cmake/neoAddLibrary.cmake
        DESTINATION ${package_dir})

# The prefix is found from the .pc file's own place, so that an installation can be moved.
file(RELATIVE_PATH prefix_from_pc /x/${CMAKE_INSTALL_LIBDIR}/pkgconfig /x)
configure_file(cmake/neort.pc.in ${CMAKE_BINARY_DIR}/package/neort.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/neort.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
