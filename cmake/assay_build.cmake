# Compiler settings shared by everything we compile.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Line tables are enough to read a stack trace, and halve what the linker has to carry.
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1")

# One cache serves every clone on this machine, precompiled headers included. It finds a result by the bytes of
# the files that the compiler read (depend mode), never by the preprocessed text: a header precompiled before
# a comment changed has the same text, and g++ then fails to know the header again and reads it twice. The
# namespace leaves behind what was found by text before. Times of headers stay in sight, so that nothing is kept
# of a compilation during which somebody edited.
find_program(CCACHE ccache)
if(CCACHE)
  set(ASSAY_LAUNCHER /usr/bin/env "CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}" CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
    CCACHE_NAMESPACE=assay-depend "CCACHE_SLOPPINESS=pch_defines,time_macros" "${CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${ASSAY_LAUNCHER}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ASSAY_LAUNCHER}")
endif()

add_library(assay_flags INTERFACE)
target_compile_options(assay_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wconversion;-Wno-missing-field-initializers;-Werror>
  # g++ 12 sees uninitialised members where it moves variants, and overlaps where it joins strings.
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized;-Wno-restrict>
  # A precompiled header serves targets that agree on -pthread, so all have it.
  -pthread
  $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)

# -O2 costs a third more compiling than -O1, and pays only where something runs for each request, each
# ledger record or each message between nodes. What runs for a person, at the start or once a second is
# cold: a COLD layer, or single files of another layer by assay_cold().
set(ASSAY_COLD_OPTIONS $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
add_library(assay_cold INTERFACE)
target_compile_options(assay_cold INTERFACE ${ASSAY_COLD_OPTIONS})
function(assay_cold)
  # g++ 14 refuses headers that were precompiled with -O2.
  set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${ASSAY_COLD_OPTIONS}" SKIP_PRECOMPILE_HEADERS ON)
endfunction()

if(ASSAY_SANITIZER)
  target_compile_options(assay_flags INTERFACE -fsanitize=${ASSAY_SANITIZER} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(assay_flags INTERFACE -fsanitize=${ASSAY_SANITIZER})
  # ThreadSanitizer knows no fences; Asio's add nothing to the locks that hand its handlers over.
  if(ASSAY_SANITIZER MATCHES thread)
    target_compile_definitions(assay_flags INTERFACE BOOST_ASIO_DISABLE_FENCED_BLOCK)
  endif()
endif()
