# Writes OUT: a C++ file with the commit of the sources in SOURCE, for cli/stack.h. The commit is empty if SOURCE is not
# itself a checkout. So an unpacked archive has no commit, even inside another project's checkout.
#   cmake -DSOURCE=DIR -DOUT=FILE -P commit.cmake
cmake_minimum_required(VERSION 3.22)
set(commit "")
find_program(GIT git)
if(GIT)
  set(git ${GIT} --no-optional-locks -c safe.directory=* -C ${SOURCE})
  execute_process(COMMAND ${git} rev-parse --show-prefix OUTPUT_VARIABLE prefix RESULT_VARIABLE failed ERROR_QUIET
    OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT failed AND prefix STREQUAL "")
    execute_process(COMMAND ${git} describe --always --abbrev=12 --exclude=* --dirty=\ with\ changes OUTPUT_VARIABLE commit
      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  endif()
endif()
if(NOT commit MATCHES "^[0-9a-f]+( with changes)?$")
  set(commit "")
endif()
set(text "// Made by cmake/commit.cmake.
#include \"cli/stack.h\"

namespace megalith {

const char* built_commit() { return \"${commit}\"; }

}  // namespace megalith
")
set(before "")
if(EXISTS ${OUT})
  file(READ ${OUT} before)
endif()
if(NOT before STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
