# Toolchain of preset aarch64: 64-bit Arm Linux with Debian's cross compiler. Libraries are Debian's
# arm64 packages, unpacked by scripts/setup_aarch64; headers without machine code come from this
# machine. The result runs here under qemu-user.

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
get_filename_component(sysroot "${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-sysroot" ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH "${sysroot}" /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L /usr/aarch64-linux-gnu)
