# Compiler settings shared by every target, and the two functions that declare targets.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  # With relative paths all checkouts share the cache. The sloppiness lets ccache use precompiled headers. Depend mode
  # compares whole headers. Without it a checkout whose headers differ only in comments would get this precompiled
  # header. GCC would then read its headers a second time.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_DEPEND=1 ${CCACHE})
endif()

add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra> $<$<COMPILE_LANGUAGE:CXX>:-Wno-unknown-pragmas>)
# By default GCC collects its garbage whenever its memory has doubled since 128 MiB: 5 to 9% of a large unit's time.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
# For AMD CPUs GCC splits some multiply-adds of AVX2 in two, depending on the code around them. Then a row of a product
# would have other bits if other rows were multiplied with it.
add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=avoid-fma-max-bits=0>)
if(MEGALITH_NATIVE)
  set(MEGALITH_ARCH native)
endif()
set(MEGALITH_HAS_WIDE OFF)
if(MEGALITH_WIDE AND NOT MEGALITH_NATIVE AND NOT MEGALITH_SANITIZE AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64"
   AND CMAKE_OBJCOPY)
  set(MEGALITH_HAS_WIDE ON)
endif()
if(MEGALITH_ARCH)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-march=${MEGALITH_ARCH}>)
endif()
set(MEGALITH_TUNES_FOR_AMD OFF)
if(MEGALITH_NATIVE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -Q --help=target OUTPUT_VARIABLE settings ERROR_QUIET)
  if(settings MATCHES "-mtune=[ \t]+znver")
    set(MEGALITH_TUNES_FOR_AMD ON)
  endif()
endif()
# With AVX-512 GCC 12.2 (of Debian 12) can store the constant {1, 1, 1, 0} as {1, 1, 1, 1}. Stores of 32 bytes are
# wrong. Stores of 16 bytes are correct.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceRuns)
include(CMakePushCheckState)
cmake_push_check_state(RESET)
set(CMAKE_REQUIRED_FLAGS "-O3 -std=c++20")
if(MEGALITH_ARCH)
  string(APPEND CMAKE_REQUIRED_FLAGS " -march=${MEGALITH_ARCH}")
endif()
string(MAKE_C_IDENTIFIER "constants_by_${CMAKE_CXX_COMPILER_ID}_${CMAKE_CXX_COMPILER_VERSION}_${CMAKE_REQUIRED_FLAGS}" constants)
check_cxx_source_runs("#include <vector>
  __attribute__((noinline)) std::vector<long> made() { return {1, 1, 1, 0}; }
  int main() { return made()[3] == 0 ? 0 : 1; }" ${constants})
check_cxx_compiler_flag("-mmove-max=128 -mstore-max=128" MEGALITH_HAS_STORE_MAX)
cmake_pop_check_state()
if(NOT ${constants} AND MEGALITH_HAS_STORE_MAX)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-mmove-max=128> $<$<COMPILE_LANGUAGE:CXX>:-mstore-max=128>)
endif()
if(MEGALITH_SANITIZE)
  # Undefined behaviour ends the process, so a test or a fuzzer fails.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${MEGALITH_SANITIZE}> $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
    $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  add_link_options(-fsanitize=${MEGALITH_SANITIZE})
endif()

# Release builds compile code without hot loops with -O1. The build is a third faster than with -O3.
set(MEGALITH_COLD $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# megalith_library(name [COLD] [DEPS target...]): all .cpp (and, where there is CUDA, .cu) files of the calling folder, includes relative to
# src/. COLD: the code has no hot loops.
function(megalith_library name)
  cmake_parse_arguments(ARG "COLD" "" "DEPS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(MEGALITH_HAS_CUDA)
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cu)
    list(APPEND sources ${kernels})
  endif()
  if(sources)
    add_library(${name} STATIC ${sources})
    target_include_directories(${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} PUBLIC ${ARG_DEPS})
    if(ARG_COLD)
      target_compile_options(${name} PRIVATE ${MEGALITH_COLD})
    endif()
  else()
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${CMAKE_SOURCE_DIR}/src)
    target_link_libraries(${name} INTERFACE ${ARG_DEPS})
  endif()
endfunction()

# megalith_test(name [DEPS target...] [SOURCES file...] [PREFIX text] [LABELS label...] [TIMEOUT seconds] [ALONE filter]):
# one GoogleTest program from all .cpp files of the calling folder and SOURCES. PREFIX distinguishes its tests from those
# of another program. Each test may take TIMEOUT seconds (300 if absent). ctest runs nothing beside the tests of ALONE,
# which need a core at the right time.
function(megalith_test name)
  cmake_parse_arguments(ARG "" "PREFIX;TIMEOUT;ALONE" "DEPS;SOURCES;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name} ${sources} ${ARG_SOURCES})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${name} PRIVATE ${MEGALITH_COLD} $<$<COMPILE_LANGUAGE:CXX>:-Wno-dangling-else>)  # EXPECT_* contains an if
  # In unity builds GCC takes a test file for a header, and warns about its fixtures without linkage.
  target_compile_options(${name} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} test_places GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM test_places)
  include(GoogleTest)
  set(others "")
  if(ARG_ALONE)
    set(others TEST_FILTER "-${ARG_ALONE}")
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${ARG_PREFIX}" TEST_FILTER "${ARG_ALONE}"
      PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT OMP_NUM_THREADS=1 RUN_SERIAL ON LABELS "${ARG_LABELS}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${ARG_PREFIX}" ${others}
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT OMP_NUM_THREADS=1 LABELS "${ARG_LABELS}")
endfunction()
