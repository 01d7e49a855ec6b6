#include "topdown/runner/out_of_bounds_argument.h"

#include <algorithm>

#include "runtime/launch_note.h"

namespace tapml::topdown {

namespace {

// A tensor of a kernel's implementation, or a part of one.
struct Place {
  std::string name;
  int64_t bytes = 0;  // -1: unknown
  int64_t from = 0;   // where the part begins
};

std::optional<Place> place_of(const Suite& suite, const SuiteCall& call,
                              const Implementation& implementation, int32_t number) {
  const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
  const auto params = static_cast<int32_t>(kernel.params.size());
  const auto workspaces = static_cast<int32_t>(implementation.workspaces.size());
  if (number >= params && number < params + workspaces) {
    const std::string& name = implementation.workspaces[static_cast<size_t>(number - params)].name;
    return Place{"workspace " + name, -1, 0};
  }
  Place place;
  if (number >= params + workspaces) {
    const auto segment = static_cast<size_t>(number - params - workspaces);
    if (segment >= implementation.segments.size()) return std::nullopt;
    place.from = implementation.segments[segment].offset;
    number = implementation.segments[segment].param;
  }
  const auto param = static_cast<size_t>(number);
  const std::string& hash =
      kernel.modes[param] == AccessMode::kOut ? call.after[param] : call.before[param];
  place.name = kernel.params[param];
  place.bytes = static_cast<int64_t>(suite.tensors.at(hash).byte_size());
  return place;
}

}  // namespace

std::optional<std::string> out_of_bounds_argument(const Suite& suite, size_t index,
                                                  const Executable& executable,
                                                  const std::string& text) {
  const std::optional<runtime::StrayAccess> access = runtime::find_stray(text);
  if (!access) return std::nullopt;
  const SuiteCall& call = suite.calls[index];
  const std::string& kernel = suite.kernels[static_cast<size_t>(call.kernel)].name;
  const Implementation* implementation =
      executable.find_implementation(executable.find_kernel(kernel));
  if (implementation == nullptr) return std::nullopt;
  const auto launch =
      std::ranges::find(implementation->launches, access->entry, &LaunchInfo::entry);
  if (launch == implementation->launches.end() || access->argument < 0 ||
      access->argument >= std::ssize(launch->buffers)) {
    return std::nullopt;
  }
  const int32_t number = launch->buffers[static_cast<size_t>(access->argument)];
  const std::optional<Place> place = place_of(suite, call, *implementation, number);
  if (!place) return std::nullopt;
  const int64_t byte = access->byte + place->from;
  const std::string verb = access->write ? "writes " : "reads ";
  if (byte < 0) return verb + std::to_string(-byte) + " bytes before " + place->name;
  if (place->bytes >= 0 && byte >= place->bytes) {
    return verb + std::to_string(byte - place->bytes) + " bytes after " + place->name;
  }
  return verb + "at byte " + std::to_string(byte) + " of " + place->name;
}

}  // namespace tapml::topdown
