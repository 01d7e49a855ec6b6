// Targets: which platform a Module is compiled for, and what that platform can do.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "abi/device_info.h"
#include "base/result.h"
#include "target/processor.h"

namespace tapml::codegen {
class CodeGenerator;
}
namespace tapml::device {
struct OpenOptions;
}
namespace tapml::runtime {
class Device;
}

namespace tapml::target {

inline constexpr int64_t kWidestSubgroup = 128;

// Kernels that users write for a platform; empty: it takes none.
struct KernelLanguage {
  std::string language;
  std::string ending;  // of their files
};

// What the scheduler and the emitters must know of a platform.
struct Description {
  std::string platform;
  std::string doc;
  std::string code;            // how it is made: a name of codegen/code_generators.h
  std::string compiles_to;     // for people: "machine code, by LLVM"
  bool computes = true;        // else kernels are checked and counted, and do nothing
  bool gpu_like = false;       // grid-stride launches, work groups
  bool accurate_math = false;  // its exp, sin, ... are documented within 2 ULP: lower_math is off
  bool fused_fma = true;       // its fma rounds once; else code computes what it needs
  // The threads of a group are turns of a loop on a processor: schedules are those of processors,
  // an item a group.
  bool cpu_like_groups = false;
  // The threads of a subgroup are lanes of a processor's vectors, and a barrier costs as much as a
  // loop over all of them: a group is one subgroup, which reads long pieces of memory.
  bool cpu_like_subgroups = false;
  // A driver for a processor runs the threads of a subgroup so, and not those of a group as turns.
  bool lanes_on_processors = false;
  int64_t subgroup_width = 1;  // threads in lockstep; above 1 where `features.subgroups`
  int64_t workgroup_threads = 64;
  Processor processor;      // that machine code is made for; of no architecture: there is none
  VectorRegisters vectors;  // that loops are shaped for
  // Local buffers of one launch: what an invocation's stack has room for beside what calls it.
  int64_t local_buffer_bytes = 256 << 10;
  int64_t index_bits = 64;  // of index arithmetic; 32 is narrowed under the launcher's checks
  Limits limits;
  Features features;
  std::vector<std::string> options;  // that a target's text may give, sorted
  KernelLanguage kernel_language;
  bool library_routines = false;  // calls routines of libraries in its process
  bool own_process = false;       // served by a program of its own wherever it is
};

using DeviceOpener =
    Result<std::shared_ptr<runtime::Device>> (*)(const device::OpenOptions&) noexcept;

// A row of a table of platforms. What is null is tapml's own: the code generator that the
// description names, the device of the platform's folder.
struct Platform {
  Description description;
  const codegen::CodeGenerator* generator = nullptr;  // lives as long as the row's targets
  DeviceOpener open = nullptr;
};
using PlatformTable = std::vector<Platform>;

// tapml's own, in the order in which they are listed. A caller that has another platform copies the
// table, adds a row, and parses its targets by that (docs/add-a-platform.md).
const PlatformTable& platforms();
// Of that table; null: there is none of the name.
const Description* find_description(std::string_view platform);

// `kind[:key=value,...][@endpoint]`, for example "cpu:threads=1" or "opencl@host:9000".
struct Target {
  std::string text;  // as written
  Description description;
  std::map<std::string, std::string> options;
  std::string endpoint;  // empty: here
  // Of the platform's row.
  const codegen::CodeGenerator* generator = nullptr;
  DeviceOpener open = nullptr;

  // An integer option; UserError when it is there but is not an integer in [low, high].
  int64_t integer_option(const std::string& key, int64_t fallback, int64_t low, int64_t high) const;
  // An option with a choice of values, the first where it is not there; UserError for another.
  std::string choice(const std::string& key, const std::vector<std::string>& values) const;
};

// Makes `description` one for another processor.
void set_processor(Description& description, Processor processor);

// Makes `target` one for the device of a session, as that describes itself; what the target's
// options say stays. Native code: for its processor. UserError where the options name another one,
// PlatformError (kAbsent) for features that it lacks and for an architecture that no code is made
// for. Work groups: whether a processor or a GPU runs them, and how wide its subgroups are.
void adopt_device(Target& target, const DeviceInfo& info);

// What the code for a platform with work groups depends on beside the target's text, as text.
std::string device_identity(const Description& description);

// UserError for a platform that is not in the table (lists those that are), an unknown option or a
// malformed text.
Target parse_target(std::string_view text, const PlatformTable& table = platforms());

}  // namespace tapml::target
