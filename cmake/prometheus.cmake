# Finds prometheus-cpp and civetweb, the libraries of the endpoint of --prometheus-port. Sets MEGALITH_HAS_PROMETHEUS and
# prints the result. With MEGALITH_PROMETHEUS=ON a missing library is an error; with OFF it does not search.

set(MEGALITH_PROMETHEUS "AUTO" CACHE STRING "Build the Prometheus endpoint: AUTO (if prometheus-cpp is found), ON or OFF")
set(MEGALITH_HAS_PROMETHEUS OFF)

if(MEGALITH_PROMETHEUS STREQUAL "OFF")
  message(STATUS "Prometheus: not looked for (MEGALITH_PROMETHEUS=OFF)")
else()
  find_package(prometheus-cpp QUIET)
  find_path(CIVETWEB_INCLUDE_DIR civetweb.h)
  find_library(CIVETWEB_LIBRARY civetweb)
  if(prometheus-cpp_FOUND AND CIVETWEB_INCLUDE_DIR AND CIVETWEB_LIBRARY)
    set(MEGALITH_HAS_PROMETHEUS ON)
    message(STATUS "Prometheus: prometheus-cpp ${prometheus-cpp_VERSION}, ${CIVETWEB_LIBRARY}")
  elseif(MEGALITH_PROMETHEUS STREQUAL "ON")
    message(FATAL_ERROR "Prometheus: not found. Install prometheus-cpp-dev, or -DMEGALITH_PROMETHEUS=OFF")
  else()
    message(STATUS "Prometheus: building without an endpoint; prometheus-cpp-dev not found")
  endif()
endif()
