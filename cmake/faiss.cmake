# Finds faiss, the library of the index of `megalith retro build --retro-index-str`. Sets MEGALITH_HAS_FAISS and prints the
# result. With MEGALITH_FAISS=ON a missing library is an error; with OFF it does not search.

set(MEGALITH_FAISS "AUTO" CACHE STRING "Build faiss's indexes for RETRO: AUTO (if faiss is found), ON or OFF")
set(MEGALITH_HAS_FAISS OFF)

if(MEGALITH_FAISS STREQUAL "OFF")
  message(STATUS "faiss: not looked for (MEGALITH_FAISS=OFF)")
else()
  find_package(faiss QUIET CONFIG)
  if(faiss_FOUND)
    set(MEGALITH_HAS_FAISS ON)
    message(STATUS "faiss: ${faiss_VERSION}, ${faiss_DIR}")
  elseif(MEGALITH_FAISS STREQUAL "ON")
    message(FATAL_ERROR "faiss: not found. Install libfaiss-dev, or -DMEGALITH_FAISS=OFF")
  else()
    message(STATUS "faiss: building without approximate indexes; libfaiss-dev not found")
  endif()
endif()
