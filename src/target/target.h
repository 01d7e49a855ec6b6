// Targets: the platform for which a Module is compiled, and what that platform can do.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "abi/allowances.h"
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

// The language of custom kernels for a platform; empty: it supports none.
struct KernelLanguage {
  std::string language;
  std::string ending;  // file extension
};

// The properties of a platform that the scheduler and the emitters use.
struct Description {
  std::string platform;
  std::string doc;
  std::string code;            // name of its code generator in codegen/code_generators.h
  std::string compiles_to;     // for display: "machine code, by LLVM"
  bool computes = true;        // false: kernels are only checked and counted
  bool gpu_like = false;       // grid-stride launches, work groups
  bool accurate_math = false;  // exp, sin, ... are documented within 2 ULP: lower_math is off
  bool fused_fma = true;       // fma rounds once; otherwise code emulates it
  // A processor runs the threads of a group as iterations of a loop: schedules are those of
  // processors, with one item per group.
  bool cpu_like_groups = false;
  // The threads of a subgroup are lanes of a processor's vectors, and a barrier costs as much as a
  // loop over all of them: a group is one subgroup, which reads long pieces of memory.
  bool cpu_like_subgroups = false;
  // Drivers for processors run subgroups as vector lanes, but not groups as loops.
  bool lanes_on_processors = false;
  // Drivers for processors compile the long code of schedule rules for minutes. `short_code`: the
  // device has such a driver, and kernels get the fallback's schedule.
  bool short_code_on_processors = false;
  bool short_code = false;
  int64_t subgroup_width = 1;  // threads in lockstep; above 1 with `features.subgroups`
  int64_t workgroup_threads = 64;
  Processor processor;      // for machine code; without an architecture: none
  VectorRegisters vectors;  // for which loops are shaped
  // Limit on the local buffers of one launch: the part of the stack that callers leave free.
  int64_t local_buffer_bytes = 256 << 10;
  int64_t index_bits = 64;  // of index arithmetic; the launcher's checks make 32 safe
  Limits limits;
  Features features;
  // Allowed in a target's text, sorted, besides those of allowances.
  std::vector<std::string> options;
  // What its arithmetic may do: by the platform's documentation, changed by the target's options.
  Allowances allowances;
  KernelLanguage kernel_language;
  bool library_routines = false;  // calls library routines in its process
  bool own_process = false;       // always served by a separate program
};

using DeviceOpener =
    Result<std::shared_ptr<runtime::Device>> (*)(const device::OpenOptions&) noexcept;

// A row of a table of platforms. Null members stand for tapml's own: the code generator that the
// description names, and the device of the platform's folder.
struct Platform {
  Description description;
  const codegen::CodeGenerator* generator = nullptr;  // outlives the row's targets
  DeviceOpener open = nullptr;
};
using PlatformTable = std::vector<Platform>;

// tapml's own platforms, in the order in which they are listed. To add a platform, copy the table,
// add a row, and parse targets with it (docs/add-a-platform.md).
const PlatformTable& platforms();
// The description of a platform in that table; null for an unknown name.
const Description* find_description(std::string_view platform);

// `kind[:key=value,...][@endpoint]`, for example "cpu:threads=1" or "opencl@host:9000".
struct Target {
  std::string text;  // as written
  Description description;
  std::map<std::string, std::string> options;
  std::string endpoint;  // empty: local
  // From the platform's row.
  const codegen::CodeGenerator* generator = nullptr;
  DeviceOpener open = nullptr;

  // An integer option; UserError if it is present but not an integer in [low, high].
  int64_t integer_option(const std::string& key, int64_t fallback, int64_t low, int64_t high) const;
  // An option with fixed values, by default the first; UserError for any other value.
  std::string choice(const std::string& key, const std::vector<std::string>& values) const;
};

// Whether weights of integers are multiplied with bytes faster than with floats: by a processor's
// code that has prepared weights (schedule:cpu_integer).
bool multiplies_bytes(const Description& description);

// Sets the processor of `description`.
void set_processor(Description& description, Processor processor);

// Adapts `target` to the device of a session, as the device describes itself; the target's options
// still apply. For native code: to its processor. UserError if the options name another one,
// PlatformError (kAbsent) for features that it lacks and for an unsupported architecture. For work
// groups, unless the option `for` names a device: whether a processor or a GPU runs them, how wide
// its subgroups are, what it computes and stores, and its limits. Lower limits of groups replace
// the platform's; limits of bindings replace those that the platform has.
void adopt_device(Target& target, const DeviceInfo& info);

// A text of what code with work groups depends on besides the target's text.
std::string device_identity(const Description& description);

// UserError for a platform that is not in the table (lists the known ones), an unknown option or
// malformed text.
Target parse_target(std::string_view text, const PlatformTable& table = platforms());

}  // namespace tapml::target
