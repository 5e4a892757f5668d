# `cpack -G DEB` in the build folder makes four Debian packages. Their dependencies follow from the linked libraries.
set(CPACK_PACKAGE_NAME megalith)
set(CPACK_PACKAGE_VENDOR Megalith)
set(MEGALITH_MAINTAINER "Megalith <packages@megalith.invalid>" CACHE STRING "Who answers for packages: name and address")
set(CPACK_PACKAGE_CONTACT ${MEGALITH_MAINTAINER})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Pretrains large language models across GPUs")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL megalith libmegalith0 libmegalith-dev python3-megalith)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)

set(installed "${PROJECT_VERSION}")
set(CPACK_DEBIAN_MEGALITH_PACKAGE_NAME megalith)
set(CPACK_DEBIAN_LIBMEGALITH0_PACKAGE_NAME libmegalith0)
set(CPACK_DEBIAN_LIBMEGALITH0_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBMEGALITH0_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/triggers)
file(WRITE ${CMAKE_BINARY_DIR}/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBMEGALITH-DEV_PACKAGE_NAME libmegalith-dev)
set(CPACK_DEBIAN_LIBMEGALITH-DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBMEGALITH-DEV_PACKAGE_DEPENDS "libmegalith0 (= ${installed})")
set(CPACK_DEBIAN_PYTHON3-MEGALITH_PACKAGE_NAME python3-megalith)
set(CPACK_DEBIAN_PYTHON3-MEGALITH_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3-MEGALITH_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3-MEGALITH_PACKAGE_DEPENDS "libmegalith0 (>= ${installed}), python3 (>= 3.8)")
set(CPACK_COMPONENT_MEGALITH_DESCRIPTION "The command: data, training, evaluation, conversion, plans.")
set(CPACK_COMPONENT_LIBMEGALITH0_DESCRIPTION "The library, with a C interface: training in a program of your own.")
set(CPACK_COMPONENT_LIBMEGALITH-DEV_DESCRIPTION "Headers of the library, and how CMake and pkg-config find it.")
set(CPACK_COMPONENT_PYTHON3-MEGALITH_DESCRIPTION "The library in Python.")

# Each Debian package's copyright and changelog.
file(WRITE ${CMAKE_BINARY_DIR}/changelog "megalith (${PROJECT_VERSION}) unstable; urgency=medium

  * This version.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000
")
file(WRITE ${CMAKE_BINARY_DIR}/copyright "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: megalith

Files: *
Copyright: 2026 the authors of Megalith
License: Apache-2.0
 The text of this license is in /usr/share/common-licenses/Apache-2.0.
")
find_program(GZIP gzip)
if(GZIP)
  execute_process(COMMAND ${GZIP} -9nkf changelog WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  foreach(component ${CPACK_COMPONENTS_ALL})
    install(FILES ${CMAKE_BINARY_DIR}/copyright ${CMAKE_BINARY_DIR}/changelog.gz DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${component} COMPONENT ${component})
  endforeach()
endif()
include(CPack)
