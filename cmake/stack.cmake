# The versions that the program is built with, for cli/stack.cpp: MEGALITH_COMPILER, and MEGALITH_BUILT_FOR, which lists CUDA
# and its libraries. The separator is "," because CMake splits lists at ";".

# The version number from three macros of a header.
function(megalith_header_version out header major minor patch)
  set(parts "")
  if(EXISTS ${header})
    file(READ ${header} text)
    foreach(name ${major} ${minor} ${patch})
      if(text MATCHES "#define +${name} +([0-9]+)")
        list(APPEND parts ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endif()
  list(JOIN parts "." version)
  set(${out} "${version}" PARENT_SCOPE)
endfunction()

set(MEGALITH_COMPILER "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
string(REPLACE "GNU" "GCC" MEGALITH_COMPILER "${MEGALITH_COMPILER}")
set(MEGALITH_BUILT_FOR "")
if(MEGALITH_HAS_CUDA)
  megalith_header_version(cudnn ${CUDNN_INCLUDE_DIR}/cudnn_version.h CUDNN_MAJOR CUDNN_MINOR CUDNN_PATCHLEVEL)
  set(MEGALITH_BUILT_FOR "CUDA ${CUDAToolkit_VERSION}, cuDNN ${cudnn}")
  if(MEGALITH_HAS_NCCL)
    megalith_header_version(nccl ${NCCL_INCLUDE_DIR}/nccl.h NCCL_MAJOR NCCL_MINOR NCCL_PATCH)
    string(APPEND MEGALITH_BUILT_FOR ", NCCL ${nccl}")
  endif()
endif()
