// Signatures of library routines: what each argument of a call may be. include/tapml/library.h has
// the grammar. The compiler and the cpu device hold calls against them by the same functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tensor/dtype.h"

namespace tapml {

// An item of an argument's dimensions.
struct RoutineDim {
  enum class Kind : uint8_t {
    kAny,        // _
    kConstant,   // 3
    kName,       // n: one value wherever it stands
    kGroup,      // *s: any number of dimensions, the same wherever it stands
    kBroadcast,  // ~s: dimensions that broadcast to those of s
  };
  Kind kind = Kind::kAny;
  int64_t value = 0;  // of kConstant; else the number of the name or group
  // kName: the parameter that, where it is not 0, puts the name `swapped` in this one's place.
  std::optional<size_t> swapped_by;
  size_t swapped = 0;

  bool is_group() const { return kind == Kind::kGroup || kind == Kind::kBroadcast; }
};

struct RoutineArgument {
  std::string name;
  std::vector<DType> dtypes;   // empty: any
  std::optional<size_t> type;  // the arguments of one type have one dtype
  std::vector<RoutineDim> dims;
  bool optional = false;  // a call may end before it
};

struct RoutineSignature {
  std::string text;
  std::vector<RoutineArgument> arguments;  // inputs, then outputs
  size_t inputs = 0;
  std::vector<std::string> names, groups, types, parameters;
  std::vector<size_t> most;      // dimensions, by group
  bool more_parameters = false;  // any number follows
  // Arguments in the order in which their dimensions are looked at: those that say how long a
  // group is before those that need it.
  std::vector<size_t> order;
};

// UserError at `where` for a text that is no signature.
Result<RoutineSignature> parse_routine_signature(std::string_view text, const std::string& where);

// The first thing that a call does which the signature forbids.
struct RoutineFault {
  std::optional<size_t> argument;  // of the signature; none: it is the whole call
  std::string message, expected, found;
};

// "argument b of routine x.matmul has another dtype".
std::string fault_message(const RoutineSignature& signature, const std::string& routine,
                          const RoutineFault& fault);

// An argument as far as it is known.
struct RoutineTensor {
  std::optional<DType> dtype;
  std::optional<size_t> rank;
};

// By count, dtypes and ranks: `inputs` and `outputs` of the call, and how many parameters it gives.
std::optional<RoutineFault> find_type_fault(const RoutineSignature& signature,
                                            std::span<const RoutineTensor> inputs,
                                            std::span<const RoutineTensor> outputs,
                                            size_t parameters);

namespace routine_signature {

RoutineFault rank_fault(const RoutineSignature& signature, size_t argument, size_t found);
// How many dimensions the one free group of the argument has in a tensor of `rank`; `bound`: those
// of each group, where they are known. Nothing where there is no such number.
std::optional<size_t> free_dims(const RoutineSignature& signature, const RoutineArgument& argument,
                                size_t rank, std::span<const std::optional<size_t>> bound);

}  // namespace routine_signature

// The same for dimensions, where find_type_fault() has found nothing. `dims(i)` has those of
// argument i of the signature as std::optional<std::span<const Dim>>, nothing where it is missing
// or unknown; `differs(a, b)` says whether two are surely not the same; `text` prints one.
template <class Dim, class DimsOf, class Differs, class Text>
std::optional<RoutineFault> find_shape_fault(const RoutineSignature& signature,
                                             std::span<const int64_t> parameters,
                                             const DimsOf& dims_of, const Differs& differs,
                                             const Text& text) {
  using Kind = RoutineDim::Kind;
  struct Bound {
    const Dim* dim = nullptr;
    size_t argument = 0;
  };
  std::vector<Bound> names(signature.names.size());
  std::vector<std::span<const Dim>> groups(signature.groups.size());
  std::vector<size_t> group_from(signature.groups.size());
  std::vector<std::optional<size_t>> lengths(signature.groups.size());
  auto as_of = [&](size_t argument) { return ", as in " + signature.arguments[argument].name; };
  for (size_t i : signature.order) {
    const RoutineArgument& argument = signature.arguments[i];
    const std::optional<std::span<const Dim>> dims = dims_of(i);
    if (!dims) continue;
    size_t unknown = 0;
    for (const RoutineDim& item : argument.dims) {
      unknown += item.kind == Kind::kBroadcast ||
                 (item.kind == Kind::kGroup && !lengths[static_cast<size_t>(item.value)]);
    }
    if (unknown > 1) continue;  // what would say how long they are is unknown
    const auto free = routine_signature::free_dims(signature, argument, dims->size(), lengths);
    if (!free) return routine_signature::rank_fault(signature, i, dims->size());
    size_t at = 0;
    for (const RoutineDim& item : argument.dims) {
      const auto number = static_cast<size_t>(item.value);
      auto wrong = [&](size_t dimension, std::string expected) {
        return RoutineFault{i, "has another dimension " + std::to_string(dimension),
                            std::move(expected), text((*dims)[dimension])};
      };
      switch (item.kind) {
        case Kind::kAny:
          ++at;
          break;
        case Kind::kConstant:
          if (differs((*dims)[at], Dim(item.value))) return wrong(at, std::to_string(item.value));
          ++at;
          break;
        case Kind::kName: {
          const bool swaps = item.swapped_by && *item.swapped_by < parameters.size() &&
                             parameters[*item.swapped_by] != 0;
          const size_t name = swaps ? item.swapped : number;
          Bound& bound = names[name];
          if (!bound.dim) {
            bound = {&(*dims)[at], i};
          } else if (differs((*dims)[at], *bound.dim)) {
            return wrong(at,
                         signature.names[name] + " = " + text(*bound.dim) + as_of(bound.argument));
          }
          ++at;
          break;
        }
        case Kind::kGroup: {
          const size_t length = lengths[number].value_or(*free);
          if (!lengths[number]) {
            lengths[number] = length;
            groups[number] = dims->subspan(at, length);
            group_from[number] = i;
          }
          for (size_t d = 0; d < length; ++d) {
            if (!differs((*dims)[at + d], groups[number][d])) continue;
            return wrong(at + d, text(groups[number][d]) + as_of(group_from[number]));
          }
          at += length;
          break;
        }
        case Kind::kBroadcast:
          for (size_t d = 0; d < *free && lengths[number]; ++d) {
            const Dim& of = groups[number][*lengths[number] - *free + d];
            if (!differs((*dims)[at + d], of) || !differs((*dims)[at + d], Dim(int64_t{1})))
              continue;
            return wrong(at + d, "1 or " + text(of) + as_of(group_from[number]));
          }
          at += *free;
          break;
      }
    }
  }
  return {};
}

}  // namespace tapml
