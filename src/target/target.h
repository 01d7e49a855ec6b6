// Targets: which platform a Module is compiled for, and what that platform can do.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "abi/device_info.h"
#include "target/processor.h"

namespace tapml::target {

// How a platform's code is made.
enum class CodeKind : uint8_t {
  kNative,   // LLVM to machine code
  kOpenClC,  // source text
  kGlsl,     // source text, to SPIR-V by shaderc
  kNone,     // nothing is generated (null)
};

inline constexpr int64_t kWidestSubgroup = 128;

// Kernels that users write for a platform; empty: it takes none.
struct UserKernels {
  std::string language;
  std::string ending;  // of their files
};

// What the scheduler and the emitters must know of a platform.
struct Description {
  std::string platform;
  std::string doc;
  CodeKind code = CodeKind::kNone;
  bool gpu_like = false;       // grid-stride launches, work groups
  bool accurate_math = false;  // its exp, sin, ... are documented within 2 ULP: lower_math is off
  bool fused_fma = true;       // its fma rounds once; else code computes what it needs
  // The threads of a group are turns of a loop on a processor: schedules are those of processors,
  // an item a group.
  bool cpu_like_groups = false;
  // The threads of a subgroup are lanes of a processor's vectors, and a barrier costs as much as a
  // loop over all of them: a group is one subgroup, which reads long pieces of memory.
  bool cpu_like_subgroups = false;
  int64_t subgroup_width = 1;  // threads in lockstep; above 1 where `features.subgroups`
  int64_t workgroup_threads = 64;
  Processor processor;      // kNative: what the code is made for
  VectorRegisters vectors;  // that loops are shaped for
  // Local buffers of one launch: what an invocation's stack has room for beside what calls it.
  int64_t local_buffer_bytes = 256 << 10;
  int64_t index_bits = 64;  // of index arithmetic; 32 is narrowed under the launcher's checks
  Limits limits;
  Features features;
  std::vector<std::string> options;  // that a target's text may give, sorted
  UserKernels user_kernels;
  bool library_routines = false;  // calls routines of libraries in its process
  bool own_process = false;       // served by a program of its own wherever it is
};

// `kind[:key=value,...][@endpoint]`, for example "cpu:threads=1" or "opencl@host:9000".
struct Target {
  std::string text;  // as written
  Description description;
  std::map<std::string, std::string> options;
  std::string place;  // empty: here

  // An integer option; UserError when it is there but is not an integer in [low, high].
  int64_t integer_option(const std::string& key, int64_t fallback, int64_t low, int64_t high) const;
  // An option with a choice of values, the first where it is not there; UserError for another.
  std::string choice(const std::string& key, const std::vector<std::string>& values) const;
};

// Makes `description` one for another processor.
void set_processor(Description& description, Processor processor);

// The known platforms, by name.
const std::vector<Description>& descriptions();
const Description* find_description(std::string_view platform);

// Makes `target` one for the device of a session, as that describes itself; what the target's
// options say stays. Native code: for its processor. UserError where the options name another one,
// PlatformError (kAbsent) for features that it lacks and for an architecture that no code is made
// for. Work groups: whether a processor or a GPU runs them, and how wide its subgroups are.
void adopt_device(Target& target, const DeviceInfo& info);

// What the code for a platform with work groups depends on beside the target's text, as text.
std::string device_identity(const Description& description);

// UserError for an unknown platform (lists the known), an unknown option or a malformed text.
Target parse_target(std::string_view text);

}  // namespace tapml::target
