// What the program asks of its host, the JavaScript around it (tapml_host.mjs): imports of the
// module "tapml".
#pragma once

#include <cstdint>

#define TAPML_IMPORT(name) __attribute__((import_module("tapml"), import_name(name)))

namespace tapml::worker::host {

extern "C" {

// Bytes of the client, at least one; 0 at their end, negative where they cannot be had.
TAPML_IMPORT("read") int32_t tapml_host_read(std::byte* to, uint32_t size);
// Sends all of them to the client; negative where that fails.
TAPML_IMPORT("write") int32_t tapml_host_write(const std::byte* from, uint32_t size);
// Name and version of what runs WebAssembly, with a newline between: as much as there is room for,
// and its size.
TAPML_IMPORT("describe") uint32_t tapml_host_describe(char* to, uint32_t room);

// Compiles a kernel module: a number above 0, or minus the size of a message (tapml_host_message).
TAPML_IMPORT("compile") int32_t tapml_host_compile(const std::byte* from, uint32_t size);
// What the last call that failed has to say.
TAPML_IMPORT("message") void tapml_host_message(char* to, uint32_t room);
// Memory that the module wants for its data, and its alignment.
TAPML_IMPORT("data_bytes") uint32_t tapml_host_data_bytes(int32_t module);
TAPML_IMPORT("data_alignment") uint32_t tapml_host_data_alignment(int32_t module);
// Makes it callable, its data at `data`: 0, or minus the size of a message.
TAPML_IMPORT("instantiate") int32_t tapml_host_instantiate(int32_t module, std::byte* data);
// Place of an exported function in this program's table, so that it is called as any other;
// 0: there is none.
TAPML_IMPORT("entry") uint32_t tapml_host_entry(int32_t module, const char* name, uint32_t size);
// Forgets the module and its places in the table.
TAPML_IMPORT("unload") void tapml_host_unload(int32_t module);

}  // extern "C"

}  // namespace tapml::worker::host
