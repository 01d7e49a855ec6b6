// Signatures of library routines: the permitted arguments of a call. include/tapml/library.h has
// the grammar. The compiler and the cpu device check calls with the same functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace tapml {

// An item of an argument's dimensions.
struct RoutineDim {
  enum class Kind : uint8_t {
    kAny,        // _
    kConstant,   // 3
    kName,       // n: the same value at each use
    kGroup,      // *s: any number of dimensions, the same at each use
    kBroadcast,  // ~s: dimensions that broadcast to those of s
  };
  Kind kind = Kind::kAny;
  int64_t value = 0;  // of kConstant; else the index of the name or group
  // kName: the parameter that, if it is not 0, replaces this name by the name `swapped`.
  std::optional<size_t> swapped_by;
  size_t swapped = 0;

  bool is_group() const { return kind == Kind::kGroup || kind == Kind::kBroadcast; }
};

struct RoutineArgument {
  std::string name;
  std::vector<DType> dtypes;   // empty: any
  std::optional<size_t> type;  // arguments of one type have the same dtype
  std::vector<RoutineDim> dims;
  bool optional = false;  // a call may end before it
};

struct RoutineSignature {
  std::string text;
  std::vector<RoutineArgument> arguments;  // inputs, then outputs
  size_t inputs = 0;
  std::vector<std::string> names, groups, types, parameters;
  std::vector<size_t> most;      // maximum dimensions, by group
  bool more_parameters = false;  // any number of further parameters
  // Argument indices in the order in which dimensions are checked: those that determine the length
  // of a group before those that need it.
  std::vector<size_t> order;
};

// UserError at `where` for a text that is not a signature.
Result<RoutineSignature> parse_routine_signature(std::string_view text, const std::string& where);

// The first violation of the signature by a call.
struct RoutineFault {
  std::optional<size_t> argument;  // index in the signature; none: the whole call
  std::string message, expected, found;
};

// "argument b of routine x.matmul has the wrong dtype".
std::string fault_message(const RoutineSignature& signature, const std::string& routine,
                          const RoutineFault& fault);

// An argument, as far as it is known.
struct RoutineTensor {
  std::optional<DType> dtype;
  std::optional<size_t> rank;
};

// Checks count, dtypes and ranks: the call's `inputs`, `outputs` and number of parameters.
std::optional<RoutineFault> find_type_fault(const RoutineSignature& signature,
                                            std::span<const RoutineTensor> inputs,
                                            std::span<const RoutineTensor> outputs,
                                            size_t parameters);

namespace routine_signature {

RoutineFault rank_fault(const RoutineSignature& signature, size_t argument, size_t found);
// The number of dimensions of the argument's one free group in a tensor of `rank`; `bound`: the
// lengths of the known groups. Empty if there is no such number.
std::optional<size_t> free_dims(const RoutineSignature& signature, const RoutineArgument& argument,
                                size_t rank, std::span<const std::optional<size_t>> bound);

}  // namespace routine_signature

// Checks dimensions after find_type_fault() found nothing. `dims(i)` returns those of argument i of
// the signature as std::optional<std::span<const Dim>>, empty if it is missing or unknown;
// `differs(a, b)` is true if two are certainly different; `text` prints one.
template <class Dim, class DimsOf, class Differs, class Text>
std::optional<RoutineFault> find_shape_fault(const RoutineSignature& signature,
                                             std::span<const int64_t> parameters,
                                             const DimsOf& dims_of, const Differs& differs,
                                             const Text& text) {
  using Kind = RoutineDim::Kind;
  // The length of each group, and of the broadcasting part of each argument.
  std::vector<std::optional<size_t>> lengths(signature.groups.size());
  std::vector<std::optional<size_t>> free(signature.arguments.size());
  for (size_t i : signature.order) {
    const RoutineArgument& argument = signature.arguments[i];
    const std::optional<std::span<const Dim>> dims = dims_of(i);
    if (!dims) continue;
    size_t unknown = 0;
    for (const RoutineDim& item : argument.dims) {
      unknown += item.kind == Kind::kBroadcast ||
                 (item.kind == Kind::kGroup && !lengths[static_cast<size_t>(item.value)]);
    }
    if (unknown > 1) continue;  // the lengths cannot be determined
    free[i] = routine_signature::free_dims(signature, argument, dims->size(), lengths);
    if (!free[i]) return routine_signature::rank_fault(signature, i, dims->size());
    for (const RoutineDim& item : argument.dims) {
      if (item.kind != Kind::kGroup) continue;
      std::optional<size_t>& length = lengths[static_cast<size_t>(item.value)];
      if (!length) length = free[i];
    }
  }
  // The binding of a name or a group, from the first argument that has it.
  struct Bound {
    std::optional<std::span<const Dim>> dims;
    size_t argument = 0;
  };
  std::vector<Bound> names(signature.names.size()), groups(signature.groups.size());
  auto as_of = [&](size_t argument) { return ", as in " + signature.arguments[argument].name; };
  auto check = [&](size_t i, bool broadcast) -> std::optional<RoutineFault> {
    if (!free[i]) return {};
    const std::span<const Dim> dims = *dims_of(i);
    size_t at = 0;
    auto wrong = [&](size_t dimension, std::string expected) {
      return RoutineFault{i, "has another dimension " + std::to_string(dimension),
                          std::move(expected), text(dims[dimension])};
    };
    for (const RoutineDim& item : signature.arguments[i].dims) {
      const auto number = static_cast<size_t>(item.value);
      const size_t length = item.kind == Kind::kGroup       ? *lengths[number]
                            : item.kind == Kind::kBroadcast ? *free[i]
                                                            : 1;
      const size_t first = std::exchange(at, at + length);
      if (broadcast != (item.kind == Kind::kBroadcast) || item.kind == Kind::kAny) continue;
      if (item.kind == Kind::kConstant) {
        if (differs(dims[first], Dim(item.value))) return wrong(first, std::to_string(item.value));
        continue;
      }
      const bool swaps = item.swapped_by && *item.swapped_by < parameters.size() &&
                         parameters[*item.swapped_by] != 0;
      const bool named = item.kind == Kind::kName;
      Bound& bound = named ? names[swaps ? item.swapped : number] : groups[number];
      if (!bound.dims && !broadcast) bound = {dims.subspan(first, length), i};
      if (!bound.dims) continue;
      for (size_t d = 0; d < length; ++d) {
        const Dim& of = (*bound.dims)[bound.dims->size() - length + d];
        if (!differs(dims[first + d], of)) continue;
        if (broadcast && !differs(dims[first + d], Dim(int64_t{1}))) continue;
        const std::string name =
            named ? signature.names[swaps ? item.swapped : number] + " = " : "";
        return wrong(first + d, (broadcast ? "1 or " : name) + text(of) + as_of(bound.argument));
      }
    }
    return {};
  };
  for (bool broadcast : {false, true}) {
    for (size_t i = 0; i < signature.arguments.size(); ++i) {
      if (auto fault = check(i, broadcast)) return fault;
    }
  }
  return {};
}

}  // namespace tapml
