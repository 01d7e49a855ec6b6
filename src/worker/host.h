// The imports of modules "tapml" and "tapml_gpu": functions of the program's host, the JavaScript
// around it (src/web/).
#pragma once

#include <cstdint>

#define TAPML_IMPORT(name) __attribute__((import_module("tapml"), import_name(name)))
#define TAPML_GPU_IMPORT(name) __attribute__((import_module("tapml_gpu"), import_name(name)))

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

// WebGPU (device/webgpu/gpu.h). A result below 0 is minus the size of a message, and
// tapml_gpu_fault() the kind of the failure. "Begins": tapml_gpu_settle() waits for the rest and
// returns its result; one thing at a time.

TAPML_GPU_IMPORT("fault") int32_t tapml_gpu_fault();
// Waits for what began, at most so long: 0 if it still runs, else its result: a number above 0.
TAPML_GPU_IMPORT("settle") int32_t tapml_gpu_settle(uint32_t milliseconds);
// Begins.
TAPML_GPU_IMPORT("open") int32_t tapml_gpu_open();
// Writes lines about the adapter, up to `room` bytes; returns their size.
TAPML_GPU_IMPORT("facts") int32_t tapml_gpu_facts(char* to, uint32_t room);
// The buffer's number.
TAPML_GPU_IMPORT("create_buffer") int32_t tapml_gpu_create_buffer(double bytes);
TAPML_GPU_IMPORT("destroy_buffer") void tapml_gpu_destroy_buffer(uint32_t buffer);
// Begins; the result is the pipeline's number. `constants`: pairs of number and value.
TAPML_GPU_IMPORT("create_pipeline")
int32_t tapml_gpu_create_pipeline(const char* name, uint32_t name_size, const char* wgsl,
                                  uint32_t size, uint32_t buffers, const uint32_t* constants,
                                  uint32_t count);
TAPML_GPU_IMPORT("destroy_pipeline") void tapml_gpu_destroy_pipeline(uint32_t pipeline);
TAPML_GPU_IMPORT("write")
int32_t tapml_gpu_write(uint32_t buffer, uint32_t offset, const std::byte* from, uint32_t size);
TAPML_GPU_IMPORT("submit") int32_t tapml_gpu_submit(const uint32_t* commands, uint32_t count);
TAPML_GPU_IMPORT("check") int32_t tapml_gpu_check();    // begins
TAPML_GPU_IMPORT("finish") int32_t tapml_gpu_finish();  // begins
// Begins; then tapml_gpu_take() copies the bytes.
TAPML_GPU_IMPORT("read")
int32_t tapml_gpu_read(uint32_t buffer, uint32_t offset, uint32_t size);
TAPML_GPU_IMPORT("take") int32_t tapml_gpu_take(std::byte* to);

}  // extern "C"

}  // namespace tapml::worker::host
