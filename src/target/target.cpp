#include "target/target.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "base/host/cpu_features.h"
#include "base/strings.h"
#include "ir/exceptions.h"
#include "target/devices.h"

namespace tapml::target {

namespace {

const Platform* find_platform(const PlatformTable& table, std::string_view name) {
  for (const Platform& platform : table) {
    if (platform.description.platform == name) return &platform;
  }
  return nullptr;
}

// With those of allowances, which every platform that computes has.
std::vector<std::string> known_options(const Description& description) {
  std::vector<std::string> known = description.options;
  if (description.computes) {
    known.insert(known.end(), {"accumulation", "division", "precision"});
  }
  std::ranges::sort(known);
  return known;
}

void set_allowances(Target& target) {
  Allowances& allowances = target.description.allowances;
  if (target.options.contains("precision")) {
    // In the order of OperandPrecision.
    const std::vector<std::string> formats = {"f32", "tf32", "f16", "bf16"};
    const auto at = std::ranges::find(formats, target.choice("precision", formats));
    allowances.precision = static_cast<OperandPrecision>(at - formats.begin());
  }
  if (target.options.contains("accumulation")) {
    allowances.half_sums = target.choice("accumulation", {"f32", "f16"}) == "f16";
  }
  if (target.options.contains("division")) {
    allowances.relaxed_division = target.choice("division", {"ieee", "relaxed"}) == "relaxed";
  }
}

// f16 arithmetic: as the device reports it, its own in any case, or through f32.
void set_f16(Target& target) {
  const std::string f16 = target.choice("f16", {"auto", "native", "f32"});
  std::set<DType>& computes = target.description.features.compute_dtypes;
  if (f16 == "native") computes.insert(DType::kF16);
  if (f16 == "f32") computes.erase(DType::kF16);
}

bool is_subgroup_width(int64_t width) {
  return width > 1 && width <= kWidestSubgroup && std::has_single_bit(static_cast<uint64_t>(width));
}

}  // namespace

Target parse_target(std::string_view text, const PlatformTable& table) {
  Target target;
  target.text = std::string(text);
  std::string where = "target \"" + target.text + "\"";
  std::string_view rest = text;
  if (size_t at = rest.find('@'); at != std::string_view::npos) {
    target.endpoint = std::string(rest.substr(at + 1));
    rest = rest.substr(0, at);
    if (target.endpoint.empty()) throw_user("the endpoint after '@' is empty", where, "an address");
  }
  std::string_view kind = rest.substr(0, rest.find(':'));
  const Platform* platform = find_platform(table, kind);
  if (!platform) {
    std::vector<std::string> names;
    for (const Platform& one : table) names.push_back(one.description.platform);
    throw_user("unknown target \"" + std::string(kind) + "\"", where, "one of " + join(names),
               kind.empty() ? "nothing" : std::string(kind),
               "`tapml devices` lists the platforms and their devices");
  }
  target.description = platform->description;
  target.generator = platform->generator;
  target.open = platform->open;
  if (kind.size() == rest.size()) return target;
  std::string_view options = rest.substr(kind.size() + 1);
  const std::vector<std::string> known = known_options(target.description);
  while (true) {
    std::string_view option = options.substr(0, options.find(','));
    size_t equals = option.find('=');
    std::string key(option.substr(0, equals));
    bool is_known = false;
    for (const std::string& name : known) is_known |= name == key;
    if (!is_known) {
      throw_user("unknown option \"" + key + "\" of target " + std::string(kind), where,
                 known.empty() ? "no options" : "one of " + join(known), key);
    }
    if (equals == std::string_view::npos || equals + 1 == option.size()) {
      throw_user("option \"" + key + "\" has no value", where, key + "=<value>",
                 std::string(option));
    }
    target.options[key] = std::string(option.substr(equals + 1));
    if (option.size() == options.size()) break;
    options = options.substr(option.size() + 1);
  }
  int64_t& bits = target.description.index_bits;
  bits = target.integer_option("index", bits, 32, 64);
  if (bits != 32 && bits != 64) {
    throw_user("bad value of option \"index\"", where, "32 or 64", std::to_string(bits));
  }
  if (auto it = target.options.find("for"); it != target.options.end()) {
    describe_device(target.description, it->second, where);
  }
  const auto arch = target.options.find("arch"), features = target.options.find("features");
  if (arch != target.options.end() || features != target.options.end()) {
    set_processor(target.description,
                  parse_processor(arch != target.options.end() ? arch->second : cpu_architecture(),
                                  features != target.options.end() ? features->second : "", where));
  }
  set_allowances(target);
  const std::string groups = target.choice("groups", {"auto", "cpu", "gpu"});
  if (groups != "auto") target.description.cpu_like_groups = groups == "cpu";
  target.choice("schedule", {"rules", "fallback"});
  set_f16(target);
  if (target.options.contains("subgroups")) {
    const int64_t width = target.integer_option("subgroups", 0, 0, kWidestSubgroup);
    if (width != 0 && !is_subgroup_width(width)) {
      throw_user("bad value of option \"subgroups\"", where,
                 "0, or a power of two from 2 to " + std::to_string(kWidestSubgroup),
                 std::to_string(width));
    }
    target.description.subgroup_width = std::max<int64_t>(1, width);
    target.description.features.subgroups = width > 0;
  }
  return target;
}

bool multiplies_bytes(const Description& description) {
  return description.index_bits == 64 && has_byte_products(description.processor);
}

void set_processor(Description& description, Processor processor) {
  description.vectors = vector_registers(processor);
  description.processor = std::move(processor);
}

namespace {

// No platform requires more, and no kernel binds more. A server's description arrives over the
// network.
constexpr int64_t kMostAlignment = 4096, kMostBindings = 64;

// Groups are scheduled for the figures of the platform, so a device can only lower these. How
// tensors are bound follows the device. A limit that the platform does not have stays unknown.
void adopt_limits(Limits& own, const Limits& device) {
  auto lower = [](int64_t& limit, int64_t reported) {
    if (reported > 0) limit = std::min(limit, reported);
  };
  auto replace = [](int64_t& limit, int64_t reported) {
    if (limit > 0 && reported > 0) limit = reported;
  };
  lower(own.max_workgroup_threads, device.max_workgroup_threads);
  lower(own.max_local_memory, device.max_local_memory);
  replace(own.max_binding_bytes, device.max_binding_bytes);
  replace(own.max_bindings, std::min(device.max_bindings, kMostBindings));
  const int64_t alignment = device.buffer_alignment;
  if (alignment <= kMostAlignment && std::has_single_bit(static_cast<uint64_t>(alignment))) {
    replace(own.buffer_alignment, alignment);
  }
}

void adopt_features(Features& own, const Features& device) {
  auto reports = [](const std::set<DType>& dtypes) {
    return [&](DType dtype) { return !dtypes.contains(dtype); };
  };
  std::erase_if(own.storage_dtypes, reports(device.storage_dtypes));
  std::erase_if(own.compute_dtypes, reports(device.compute_dtypes));
  if (device.compute_dtypes.contains(DType::kF16)) own.compute_dtypes.insert(DType::kF16);
  own.narrow_stores = own.narrow_stores && device.narrow_stores;
  own.local_memory = own.local_memory && device.local_memory;
}

void adopt_groups(Target& target, const DeviceInfo& info) {
  Description& own = target.description;
  if (info.kind == DeviceKind::kUnknown) return;
  const bool is_processor = info.kind == DeviceKind::kProcessor;
  if (!target.options.contains("subgroups")) {
    const int64_t width = info.limits.subgroup_width;
    own.features.subgroups = is_subgroup_width(width);
    own.subgroup_width = own.features.subgroups ? width : 1;
  }
  own.short_code = is_processor && own.short_code_on_processors;
  if (target.choice("groups", {"auto", "cpu", "gpu"}) != "auto") return;
  if (own.lanes_on_processors) {
    own.cpu_like_subgroups = is_processor && own.features.subgroups;
  } else {
    own.cpu_like_groups = is_processor;
  }
}

void adopt_gpu_like(Target& target, const DeviceInfo& info) {
  if (target.options.contains("for")) return;
  adopt_groups(target, info);
  // A device that stores nothing has not reported what it can do.
  if (info.features.storage_dtypes.empty()) return;
  adopt_limits(target.description.limits, info.limits);
  adopt_features(target.description.features, info.features);
  set_f16(target);
}

}  // namespace

std::string device_identity(const Description& description) {
  const Limits& limits = description.limits;
  const Features& features = description.features;
  return "subgroups " + std::to_string(features.subgroups ? description.subgroup_width : 0) +
         (description.cpu_like_groups      ? ", a processor's groups"
          : description.cpu_like_subgroups ? ", a processor's subgroups"
                                           : "") +
         (description.short_code ? ", short code" : "") + "\nlimits " +
         join(std::vector{limits.max_workgroup_threads, limits.max_local_memory,
                          limits.max_binding_bytes, limits.max_bindings, limits.buffer_alignment},
              [](int64_t limit) { return std::to_string(limit); }) +
         (features.local_memory ? "" : ", no local memory") +
         (features.narrow_stores ? "" : ", no narrow stores") + "\ncomputes " +
         join(features.compute_dtypes, dtype_name) + "\nstores " +
         join(features.storage_dtypes, dtype_name);
}

void adopt_device(Target& target, const DeviceInfo& info) {
  // A server that reports no processor is assumed to equal this machine; loading code checks.
  const Description& platform = target.description;
  if (platform.gpu_like) return adopt_gpu_like(target, info);
  if (platform.processor.architecture.empty() || platform.own_process || info.cpu.empty()) return;
  const std::string where = "target \"" + target.text + "\"";
  Processor reported = processor_of(info, where);
  Processor& own = target.description.processor;
  if (!target.options.contains("arch") && !target.options.contains("features")) {
    set_processor(target.description, std::move(reported));
    return;
  }
  if (own.architecture != reported.architecture) {
    throw_platform(
        PlatformFault::kAbsent,
        "code for " + own.architecture + " was requested, but the machine is " +
            reported.architecture,
        where,
        target.endpoint.empty()
            ? "use cpu@ENDPOINT for another machine, or tapml compile -o to write a file for it"
            : "omit \"arch\" and \"features\" to use what the machine reports");
  }
  if (std::string missing = missing_feature(own.features, reported.features); !missing.empty()) {
    throw_platform(PlatformFault::kAbsent, "the machine's processor lacks " + missing, where,
                   reported.features.empty() ? "" : "it has " + reported.features);
  }
}

std::string Target::choice(const std::string& key, const std::vector<std::string>& values) const {
  auto it = options.find(key);
  if (it == options.end()) return values.front();
  if (std::find(values.begin(), values.end(), it->second) == values.end()) {
    throw_user("bad value of option \"" + key + "\"", "target \"" + text + "\"",
               "one of " + join(values), it->second);
  }
  return it->second;
}

int64_t Target::integer_option(const std::string& key, int64_t fallback, int64_t low,
                               int64_t high) const {
  auto it = options.find(key);
  if (it == options.end()) return fallback;
  int64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  auto [stop, error] = std::from_chars(it->second.data(), end, value);
  if (error != std::errc() || stop != end || value < low || value > high) {
    throw_user("bad value of option \"" + key + "\"", "target \"" + text + "\"",
               "an integer from " + std::to_string(low) + " to " + std::to_string(high),
               it->second);
  }
  return value;
}

const Description* find_description(std::string_view platform) {
  const Platform* row = find_platform(platforms(), platform);
  return row ? &row->description : nullptr;
}

}  // namespace tapml::target
