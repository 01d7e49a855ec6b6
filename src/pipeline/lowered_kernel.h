// A kernel on its way from loops to code. Private to pipeline/.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "codegen/code_generator.h"
#include "codegen/lower/device_func.h"
#include "codegen/lower/preparation.h"
#include "codegen/lower/segment_tensors.h"
#include "exec/executable.h"
#include "exec/library_code.h"
#include "tir/prim_func.h"

namespace tapml::pipeline {

// Launches of one form of a kernel: for tensors that are bound whole, or in segments.
struct KernelForm {
  std::string prefix;        // of the launches' names
  bool whole = true;         // for calls whose tensors are bound whole
  tir::PrimFuncRef program;  // what the steps so far made of the loops
  std::vector<Segment> segments;
  codegen::LoweredKernel lowered;  // once it is cut into launches; `program` stays
  codegen::Preparation preparation;
};

struct LoweredKernel {
  // Who implements it.
  enum class Source : uint8_t { kGenerated, kCached, kRoutine, kForeign };

  std::string name;
  size_t number = 0;       // of the kernel and its implementation in the executable
  std::string loops_name;  // of the tensor program in the module
  tir::PrimFuncRef loops;  // as the module has it
  std::string programs;    // hand-written ones among what it computes: "@f, @g"
  std::vector<std::optional<int64_t>> most;  // of its scalars, where that is known
  Source source = Source::kGenerated;

  tir::PrimFuncRef scheduled;  // null before
  bool by_rules = true;        // scheduled by rules, else by the fallback
  bool rewritten = false;      // ImplementOptions::rewrite made something else of it
  std::vector<KernelForm> forms;
  // Tensors whose number of rows the scalars decide; some call may need the form in segments.
  std::vector<codegen::SegmentedFunc::Rows> symbolic;

  Implementation implementation;
  LibraryCode routine;       // that implements it, if one does
  std::string key;           // in the cache; empty: not for the cache
  codegen::KernelCode code;  // from the cache, or for it

  bool is_generated() const { return source == Source::kGenerated; }
};

}  // namespace tapml::pipeline
