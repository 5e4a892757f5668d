# Finds MPI's C interface, one of the transports between CPU ranks and of the control plane. Sets MEGALITH_HAS_MPI and
# prints the result. With MEGALITH_MPI=ON a missing MPI is an error; with OFF it does not search.

set(MEGALITH_MPI "AUTO" CACHE STRING "Build with MPI: AUTO (if found), ON or OFF")
set(MEGALITH_HAS_MPI OFF)

if(MEGALITH_MPI STREQUAL "OFF")
  message(STATUS "MPI: not looked for (MEGALITH_MPI=OFF)")
else()
  enable_language(C)  # FindMPI needs a C compiler for the C interface
  find_package(MPI QUIET COMPONENTS C)
  if(MPI_C_FOUND)
    set(MEGALITH_HAS_MPI ON)
    target_compile_definitions(MPI::MPI_C INTERFACE OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)  # excludes the old C++ bindings
    message(STATUS "MPI ${MPI_C_VERSION}: ${MPI_C_COMPILER}")
  elseif(MEGALITH_MPI STREQUAL "ON")
    message(FATAL_ERROR "MPI: not found. Install libopenmpi-dev and openmpi-bin, or -DMEGALITH_MPI=OFF")
  else()
    message(STATUS "MPI: building without it (one process, or GPU ranks by torchrun); libopenmpi-dev not found")
  endif()
endif()
