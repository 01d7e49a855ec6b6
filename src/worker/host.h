// The imports of module "tapml": functions of the program's host, the JavaScript around it
// (tapml_host.mjs).
#pragma once

#include <cstdint>

#define TAPML_IMPORT(name) __attribute__((import_module("tapml"), import_name(name)))

namespace tapml::worker::host {

extern "C" {

// Reads at least one byte from the client; 0 at the end, negative on failure.
TAPML_IMPORT("read") int32_t tapml_host_read(std::byte* to, uint32_t size);
// Sends all bytes to the client; negative on failure.
TAPML_IMPORT("write") int32_t tapml_host_write(const std::byte* from, uint32_t size);
// Writes name and version of the WebAssembly runtime, separated by a newline, up to `room` bytes;
// returns the full size.
TAPML_IMPORT("describe") uint32_t tapml_host_describe(char* to, uint32_t room);

// Compiles a kernel module: returns a number above 0, or minus the size of a message
// (tapml_host_message).
TAPML_IMPORT("compile") int32_t tapml_host_compile(const std::byte* from, uint32_t size);
// The message of the last failed call.
TAPML_IMPORT("message") void tapml_host_message(char* to, uint32_t room);
// Size and alignment of the memory that the module needs for its data.
TAPML_IMPORT("data_bytes") uint32_t tapml_host_data_bytes(int32_t module);
TAPML_IMPORT("data_alignment") uint32_t tapml_host_data_alignment(int32_t module);
// Makes the module callable, with its data at `data`: returns 0, or minus the size of a message.
TAPML_IMPORT("instantiate") int32_t tapml_host_instantiate(int32_t module, std::byte* data);
// Index of an exported function in this program's table, so that it can be called like any other;
// 0: not found.
TAPML_IMPORT("entry") uint32_t tapml_host_entry(int32_t module, const char* name, uint32_t size);
// Removes the module and its table entries.
TAPML_IMPORT("unload") void tapml_host_unload(int32_t module);

}  // extern "C"

}  // namespace tapml::worker::host
