// A kernel during lowering from loops to code. Private to pipeline/.
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

// Launches of one form of a kernel: for tensors bound whole, or in segments.
struct KernelForm {
  std::string prefix;        // of the launches' names
  bool whole = true;         // for calls whose tensors are bound whole
  tir::PrimFuncRef program;  // current form of the loops
  std::vector<Segment> segments;
  codegen::LoweredKernel lowered;  // set once it is split into launches; `program` stays
  codegen::Preparation preparation;
};

struct LoweredKernel {
  // The origin of its implementation.
  enum class Source : uint8_t { kGenerated, kCached, kRoutine, kForeign };

  std::string name;
  size_t number = 0;       // of the kernel and its implementation in the executable
  std::string loops_name;  // of the tensor program in the module
  tir::PrimFuncRef loops;  // as in the module
  std::string programs;    // hand-written programs that it computes: "@f, @g"
  std::vector<std::optional<int64_t>> most;  // upper bounds of its scalars, if known
  Source source = Source::kGenerated;

  tir::PrimFuncRef scheduled;  // null before scheduling
  bool by_rules = true;        // scheduled by rules, otherwise by the fallback
  bool rewritten = false;      // ImplementOptions::rewrite changed it
  std::vector<KernelForm> forms;
  // Tensors whose number of rows depends on scalars; calls may need the form in segments.
  std::vector<codegen::SegmentedFunc::Rows> symbolic;

  Implementation implementation;
  LibraryCode routine;       // the routine that implements it, if any
  std::string key;           // in the cache; empty: not cached
  codegen::KernelCode code;  // from or for the cache

  bool is_generated() const { return source == Source::kGenerated; }
};

}  // namespace tapml::pipeline
