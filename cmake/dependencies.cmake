# Third-party libraries. Each is one target (an INTERFACE library), linked only by the components
# named in components.cmake. If a library is missing, the error names the package to install.

find_package(Threads REQUIRED)

function(tapml_require found package what)
  if(NOT found)
    message(FATAL_ERROR "${what} was not found; install the Debian package ${package}, or run scripts/setup")
  endif()
endfunction()

# OpenCL installable-client-driver loader.
find_path(TAPML_OPENCL_INCLUDE CL/cl.h)
find_library(TAPML_OPENCL_LIBRARY OpenCL)
tapml_require("${TAPML_OPENCL_INCLUDE}" opencl-headers "CL/cl.h")
tapml_require("${TAPML_OPENCL_LIBRARY}" ocl-icd-opencl-dev "libOpenCL")
add_library(tapml_dep_opencl INTERFACE)
target_link_libraries(tapml_dep_opencl INTERFACE "${TAPML_OPENCL_LIBRARY}")
target_compile_definitions(tapml_dep_opencl INTERFACE CL_TARGET_OPENCL_VERSION=300)

# Vulkan's headers; its loader is opened at run time (device/vulkan).
find_path(TAPML_VULKAN_INCLUDE vulkan/vulkan.h)
tapml_require("${TAPML_VULKAN_INCLUDE}" libvulkan-dev "vulkan/vulkan.h")
add_library(tapml_dep_vulkan INTERFACE)
target_include_directories(tapml_dep_vulkan SYSTEM INTERFACE "${TAPML_VULKAN_INCLUDE}")
target_compile_definitions(tapml_dep_vulkan INTERFACE VK_NO_PROTOTYPES)

# Protocol messages: header-only at run time, with a schema compiler at build time.
find_path(TAPML_FLATBUFFERS_INCLUDE flatbuffers/flatbuffers.h)
find_program(TAPML_FLATC flatc)
tapml_require("${TAPML_FLATBUFFERS_INCLUDE}" libflatbuffers-dev "flatbuffers/flatbuffers.h")
tapml_require("${TAPML_FLATC}" flatbuffers-compiler "flatc")
add_library(tapml_dep_flatbuffers INTERFACE)
target_include_directories(tapml_dep_flatbuffers SYSTEM INTERFACE "${TAPML_FLATBUFFERS_INCLUDE}")

# TLS of remote sessions. Without OpenSSL, tapml is built without encrypted endpoints.
find_path(TAPML_OPENSSL_INCLUDE openssl/ssl.h)
find_library(TAPML_SSL_LIBRARY ssl)
find_library(TAPML_CRYPTO_LIBRARY crypto)
add_library(tapml_dep_openssl INTERFACE)
if(TAPML_OPENSSL_INCLUDE AND TAPML_SSL_LIBRARY AND TAPML_CRYPTO_LIBRARY)
  target_link_libraries(tapml_dep_openssl INTERFACE "${TAPML_SSL_LIBRARY}" "${TAPML_CRYPTO_LIBRARY}")
  target_compile_definitions(tapml_dep_openssl INTERFACE TAPML_HAS_OPENSSL)
else()
  message(STATUS "OpenSSL was not found (Debian package libssl-dev): built without TLS")
endif()
mark_as_advanced(TAPML_OPENSSL_INCLUDE TAPML_SSL_LIBRARY TAPML_CRYPTO_LIBRARY)

# HTTP, by Boost.Beast, which is header-only.
find_path(TAPML_BOOST_INCLUDE boost/beast/core.hpp)
if(TAPML_COMPILER)
  tapml_require("${TAPML_BOOST_INCLUDE}" libboost1.81-dev "boost/beast/core.hpp")
endif()
add_library(tapml_dep_boost INTERFACE)
target_include_directories(tapml_dep_boost SYSTEM INTERFACE "${TAPML_BOOST_INCLUDE}")
mark_as_advanced(TAPML_BOOST_INCLUDE)

# Unicode regular expressions, 8-bit code units.
find_path(TAPML_PCRE2_INCLUDE pcre2.h)
find_library(TAPML_PCRE2_LIBRARY pcre2-8)
tapml_require("${TAPML_PCRE2_INCLUDE}" libpcre2-dev "pcre2.h")
tapml_require("${TAPML_PCRE2_LIBRARY}" libpcre2-dev "libpcre2-8")
add_library(tapml_dep_pcre2 INTERFACE)
target_link_libraries(tapml_dep_pcre2 INTERFACE "${TAPML_PCRE2_LIBRARY}")
target_compile_definitions(tapml_dep_pcre2 INTERFACE PCRE2_CODE_UNIT_WIDTH=8)

# Unicode's normalization forms and lower case.
find_path(TAPML_UTF8PROC_INCLUDE utf8proc.h)
find_library(TAPML_UTF8PROC_LIBRARY utf8proc)
tapml_require("${TAPML_UTF8PROC_INCLUDE}" libutf8proc-dev "utf8proc.h")
tapml_require("${TAPML_UTF8PROC_LIBRARY}" libutf8proc-dev "libutf8proc")
add_library(tapml_dep_utf8proc INTERFACE)
target_link_libraries(tapml_dep_utf8proc INTERFACE "${TAPML_UTF8PROC_LIBRARY}")

# Zstandard: compresses payloads of remote sessions.
find_library(TAPML_ZSTD zstd)
find_path(TAPML_ZSTD_INCLUDE zstd.h)
tapml_require("${TAPML_ZSTD}" libzstd-dev "libzstd")
tapml_require("${TAPML_ZSTD_INCLUDE}" libzstd-dev "zstd.h")
add_library(tapml_dep_zstd INTERFACE)
target_include_directories(tapml_dep_zstd SYSTEM INTERFACE "${TAPML_ZSTD_INCLUDE}")
target_link_libraries(tapml_dep_zstd INTERFACE "${TAPML_ZSTD}")

# Command line options.
find_path(TAPML_CLI11_INCLUDE CLI/CLI.hpp)
tapml_require("${TAPML_CLI11_INCLUDE}" libcli11-dev "CLI/CLI.hpp")
add_library(tapml_dep_cli11 INTERFACE)

mark_as_advanced(
  TAPML_OPENCL_INCLUDE TAPML_OPENCL_LIBRARY TAPML_PCRE2_INCLUDE TAPML_PCRE2_LIBRARY
  TAPML_UTF8PROC_INCLUDE TAPML_UTF8PROC_LIBRARY TAPML_ZSTD TAPML_ZSTD_INCLUDE TAPML_CLI11_INCLUDE)

if(NOT TAPML_COMPILER)
  return()  # the rest is only for the compiler
endif()

# The allocator of programs, not of libraries: the compiler makes many small objects. Without
# mimalloc, and under a sanitizer, which has its own, programs use the system's.
find_library(TAPML_MIMALLOC_LIBRARY mimalloc)
add_library(tapml_dep_allocator INTERFACE)
if(TAPML_MIMALLOC_LIBRARY AND NOT TAPML_SANITIZE)
  # No program names a symbol of it, so that the linker would leave it out.
  target_link_options(
    tapml_dep_allocator
    INTERFACE "LINKER:--push-state,--no-as-needed,${TAPML_MIMALLOC_LIBRARY},--pop-state")
elseif(NOT TAPML_MIMALLOC_LIBRARY)
  message(STATUS "mimalloc was not found (Debian package libmimalloc-dev): built with the system's allocator")
endif()
mark_as_advanced(TAPML_MIMALLOC_LIBRARY)

# LLVM, as one shared library. Its CMake package is not used, because it requires every optional
# dependency that LLVM was configured with.
find_path(TAPML_LLVM_INCLUDE llvm/IR/Module.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
find_library(TAPML_LLVM_LIBRARY NAMES LLVM-19 LLVM PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH)
tapml_require("${TAPML_LLVM_INCLUDE}" llvm-19-dev "LLVM 19 headers")
tapml_require("${TAPML_LLVM_LIBRARY}" llvm-19-dev "libLLVM-19")
add_library(tapml_dep_llvm INTERFACE)
target_include_directories(tapml_dep_llvm SYSTEM INTERFACE "${TAPML_LLVM_INCLUDE}")
target_link_libraries(tapml_dep_llvm INTERFACE "${TAPML_LLVM_LIBRARY}")

# lld as a library: static archives on top of the same LLVM; they compress sections with zlib and
# zstd.
find_path(TAPML_LLD_INCLUDE lld/Common/Driver.h PATHS /usr/lib/llvm-19/include NO_DEFAULT_PATH)
tapml_require("${TAPML_LLD_INCLUDE}" liblld-19-dev "lld/Common/Driver.h")
set(lld_archives "")
foreach(archive lldELF lldWasm lldCommon)
  find_library(TAPML_${archive} lib${archive}.a PATHS /usr/lib/llvm-19/lib NO_DEFAULT_PATH)
  mark_as_advanced(TAPML_${archive})
  tapml_require("${TAPML_${archive}}" liblld-19-dev "lib${archive}.a")
  list(APPEND lld_archives "${TAPML_${archive}}")
endforeach()
find_library(TAPML_Z z)
tapml_require("${TAPML_Z}" zlib1g-dev "libz")
add_library(tapml_dep_lld INTERFACE)
target_include_directories(tapml_dep_lld SYSTEM INTERFACE "${TAPML_LLD_INCLUDE}")
target_link_libraries(
  tapml_dep_lld INTERFACE ${lld_archives} tapml_dep_llvm "${TAPML_Z}" "${TAPML_ZSTD}")

# GLSL to SPIR-V. Debian's shared libshaderc does not list the libraries that it needs, so the
# static archives are linked; glslang and SPIRV-Tools refer to each other, hence the group.
find_path(TAPML_SHADERC_INCLUDE shaderc/shaderc.h)
tapml_require("${TAPML_SHADERC_INCLUDE}" libshaderc-dev "shaderc/shaderc.h")
set(shaderc_archives "")
foreach(archive shaderc_combined glslang MachineIndependent OSDependent OGLCompiler GenericCodeGen HLSL
        SPIRV SPIRV-Tools-opt SPIRV-Tools)
  find_library(TAPML_SHADERC_${archive} lib${archive}.a)
  mark_as_advanced(TAPML_SHADERC_${archive})
  tapml_require(
    "${TAPML_SHADERC_${archive}}" "libshaderc-dev (with glslang-dev and spirv-tools)" "lib${archive}.a")
  list(APPEND shaderc_archives "${TAPML_SHADERC_${archive}}")
endforeach()
add_library(tapml_dep_shaderc INTERFACE)
target_link_libraries(
  tapml_dep_shaderc INTERFACE -Wl,--start-group ${shaderc_archives} -Wl,--end-group Threads::Threads)

# PNG and JPEG images, by decoders that return errors.
find_path(TAPML_SPNG_INCLUDE spng.h)
find_library(TAPML_SPNG_LIBRARY spng)
tapml_require("${TAPML_SPNG_INCLUDE}" libspng-dev "spng.h")
tapml_require("${TAPML_SPNG_LIBRARY}" libspng-dev "libspng")
add_library(tapml_dep_spng INTERFACE)
target_link_libraries(tapml_dep_spng INTERFACE "${TAPML_SPNG_LIBRARY}")
find_path(TAPML_TURBOJPEG_INCLUDE turbojpeg.h)
find_library(TAPML_TURBOJPEG_LIBRARY turbojpeg)
tapml_require("${TAPML_TURBOJPEG_INCLUDE}" libturbojpeg0-dev "turbojpeg.h")
tapml_require("${TAPML_TURBOJPEG_LIBRARY}" libturbojpeg0-dev "libturbojpeg")
add_library(tapml_dep_turbojpeg INTERFACE)
target_link_libraries(tapml_dep_turbojpeg INTERFACE "${TAPML_TURBOJPEG_LIBRARY}")
mark_as_advanced(TAPML_SPNG_INCLUDE TAPML_SPNG_LIBRARY TAPML_TURBOJPEG_INCLUDE
                 TAPML_TURBOJPEG_LIBRARY)

# Sound files, and changes of their rate.
find_path(TAPML_SNDFILE_INCLUDE sndfile.h)
find_library(TAPML_SNDFILE_LIBRARY sndfile)
tapml_require("${TAPML_SNDFILE_INCLUDE}" libsndfile1-dev "sndfile.h")
tapml_require("${TAPML_SNDFILE_LIBRARY}" libsndfile1-dev "libsndfile")
add_library(tapml_dep_sndfile INTERFACE)
target_link_libraries(tapml_dep_sndfile INTERFACE "${TAPML_SNDFILE_LIBRARY}")
find_path(TAPML_SAMPLERATE_INCLUDE samplerate.h)
find_library(TAPML_SAMPLERATE_LIBRARY samplerate)
tapml_require("${TAPML_SAMPLERATE_INCLUDE}" libsamplerate0-dev "samplerate.h")
tapml_require("${TAPML_SAMPLERATE_LIBRARY}" libsamplerate0-dev "libsamplerate")
add_library(tapml_dep_samplerate INTERFACE)
target_link_libraries(tapml_dep_samplerate INTERFACE "${TAPML_SAMPLERATE_LIBRARY}")
mark_as_advanced(TAPML_SNDFILE_INCLUDE TAPML_SNDFILE_LIBRARY TAPML_SAMPLERATE_INCLUDE
                 TAPML_SAMPLERATE_LIBRARY)

mark_as_advanced(
  TAPML_LLVM_INCLUDE TAPML_LLVM_LIBRARY TAPML_LLD_INCLUDE TAPML_Z TAPML_SHADERC_INCLUDE)
