# Who may include whom, enforced by the include path.
#
# The repository root is on nobody's include path. Each layer has a folder in the build tree that holds one
# symbolic link to its own sources, and a target sees the folders of the layers it links, no others: an
# include of a layer that was not declared fails with "No such file". tests/tidy checks the same rules on
# the text, so that a header-only cheat is seen too.

# The parts of the standard library that most of our files include, precompiled for every layer that names no
# other headers. Targets of their own, one for each level of optimisation: g++ takes a precompiled header only
# where every macro and every code option of the target that made it is the same.
file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/standard.cpp" CONTENT "")
function(assay_precompiled name)
  add_library(${name} OBJECT "${CMAKE_BINARY_DIR}/standard.cpp")
  target_link_libraries(${name} PRIVATE assay_flags ${ARGN})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <mutex> <optional> <set> <span> <string>
    <string_view> <utility> <variant> <vector>
  )
endfunction()
assay_precompiled(assay_standard)
assay_precompiled(assay_standard_cold assay_cold)

# assay_layer(NAME FOLDER sources... [USES targets...]) makes the library assay_NAME from FOLDER's sources.
#   COLD               nothing of it runs for each request, ledger record or message: built with -O1
#   PRECOMPILE h...    headers of its own to precompile, instead of assay_standard's
#   PRECOMPILED_BY t   shares the precompiled headers of layer t, which is cold if this one is
function(assay_layer name folder)
  cmake_parse_arguments(ARG "COLD" "PRECOMPILED_BY" "USES;PRIVATE_USES;PRECOMPILE" ${ARGN})
  set(root "${CMAKE_BINARY_DIR}/layers/${name}")
  get_filename_component(parent "${root}/${folder}" DIRECTORY)
  file(MAKE_DIRECTORY "${parent}")
  file(CREATE_LINK "${CMAKE_SOURCE_DIR}/${folder}" "${root}/${folder}" SYMBOLIC)
  if(ARG_UNPARSED_ARGUMENTS)
    add_library(assay_${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
    target_include_directories(assay_${name} PUBLIC "${root}")
    target_link_libraries(assay_${name} PUBLIC ${ARG_USES} PRIVATE assay_flags ${ARG_PRIVATE_USES})
    set(standard assay_standard)
    if(ARG_COLD)
      target_link_libraries(assay_${name} PRIVATE assay_cold)
      set(standard assay_standard_cold)
    endif()
    if(ARG_PRECOMPILE)
      target_precompile_headers(assay_${name} PRIVATE ${ARG_PRECOMPILE})
    elseif(ARG_PRECOMPILED_BY)
      target_precompile_headers(assay_${name} REUSE_FROM assay_${ARG_PRECOMPILED_BY})
    else()
      target_precompile_headers(assay_${name} REUSE_FROM ${standard})
    endif()
  else()
    add_library(assay_${name} INTERFACE)
    target_include_directories(assay_${name} INTERFACE "${root}")
    target_link_libraries(assay_${name} INTERFACE ${ARG_USES})
  endif()
endfunction()

# assay_test(NAME sources... USES targets...) makes a Catch2 program of one test folder and registers its cases.
function(assay_test name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  add_executable(test_${name} ${ARG_UNPARSED_ARGUMENTS})
  target_include_directories(test_${name} PRIVATE "${CMAKE_BINARY_DIR}/layers/tests")
  target_compile_definitions(test_${name} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(test_${name} PRIVATE ${ARG_USES} assay_flags Catch2::Catch2WithMain)
  catch_discover_tests(test_${name} TEST_PREFIX "${name}: " PROPERTIES TIMEOUT 120)
endfunction()
