// The imports of module "tapml_page": functions of the JavaScript around the program
// (src/web/engine.mjs). Those of worker/host.h are imported too.
#pragma once

#include <cstdint>

#define TAPML_PAGE_IMPORT(name) __attribute__((import_module("tapml_page"), import_name(name)))

namespace tapml::browser::page {

extern "C" {

// A piece of the answer, whether it is of its thoughts, and the number of its tokens so far; 0 ends
// the answer. May suspend the program.
TAPML_PAGE_IMPORT("text")
int32_t tapml_page_text(const char* text, uint32_t size, int32_t is_thought, uint32_t tokens);
// Whether the answer shall end: not 0.
TAPML_PAGE_IMPORT("stopped") int32_t tapml_page_stopped();
// Progress of long work: `what` (as in "modules"), how much of it is done.
TAPML_PAGE_IMPORT("progress")
void tapml_page_progress(const char* what, uint32_t size, double done, double total);

}  // extern "C"

}  // namespace tapml::browser::page
