# The files of `cmake --install`: the command, the library, its headers, and files for CMake and pkg-config. All paths in
# them are relative, so an installed tree may be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS megalith RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT megalith)
install(DIRECTORY share/megalith DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT megalith)
install(FILES ${CMAKE_BINARY_DIR}/share/megalith.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT megalith)
install(FILES ${CMAKE_BINARY_DIR}/share/megalith.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
  RENAME megalith COMPONENT megalith)
install(FILES ${CMAKE_BINARY_DIR}/share/_megalith DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  COMPONENT megalith)
install(TARGETS libmegalith EXPORT megalithTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libmegalith0 NAMELINK_COMPONENT libmegalith-dev)
install(DIRECTORY include/megalith DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libmegalith-dev)
install(DIRECTORY python/megalith DESTINATION lib/python3/dist-packages COMPONENT python3-megalith
  PATTERN __pycache__ EXCLUDE)

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/megalith)
install(EXPORT megalithTargets NAMESPACE megalith:: DESTINATION ${package} COMPONENT libmegalith-dev)
foreach(part CUDA MPI)
  set(MEGALITH_PACKAGE_${part} FALSE)
  if(MEGALITH_HAS_${part})
    set(MEGALITH_PACKAGE_${part} TRUE)
  endif()
endforeach()
configure_package_config_file(cmake/megalithConfig.cmake.in ${CMAKE_BINARY_DIR}/megalithConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/megalithConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/megalithConfig.cmake ${CMAKE_BINARY_DIR}/megalithConfigVersion.cmake
  DESTINATION ${package} COMPONENT libmegalith-dev)

file(RELATIVE_PATH MEGALITH_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" MEGALITH_PREFIX ${MEGALITH_PREFIX})
configure_file(cmake/megalith.pc.in ${CMAKE_BINARY_DIR}/megalith.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/megalith.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libmegalith-dev)

include(cmake/package.cmake)
