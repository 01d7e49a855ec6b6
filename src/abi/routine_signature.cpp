#include "abi/routine_signature.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include "base/strings.h"

namespace tapml {

namespace {

constexpr size_t kUnlimited = std::numeric_limits<size_t>::max();

// A recursive-descent parser for a one-line text.
class SignatureParser {
 public:
  SignatureParser(std::string_view text, const std::string& where) : text_(text), where_(where) {
    signature_.text = text;
  }

  Result<RoutineSignature> run() {
    // Types and parameters are defined after their uses.
    const size_t arrow = text_.find("->");
    const size_t first = text_.find(';');
    const size_t second = first == std::string_view::npos ? first : text_.find(';', first + 1);
    if (arrow == std::string_view::npos || arrow > first) return wrong("'->' before the outputs");
    if (second != std::string_view::npos) {
      end_ = text_.size();
      at_ = second + 1;
      TAPML_TRY(types());
    }
    if (first != std::string_view::npos) {
      end_ = std::min(second, text_.size());
      at_ = first + 1;
      TAPML_TRY(parameters());
    }
    at_ = 0;
    end_ = arrow;
    if (!ends()) TAPML_TRY(arguments());
    signature_.inputs = signature_.arguments.size();
    outputs_ = true;
    at_ = arrow + 2;
    end_ = std::min(first, text_.size());
    TAPML_TRY(arguments());
    return order();
  }

 private:
  std::unexpected<Error> wrong(const std::string& expected) const {
    return fail(user_error("the signature of a routine cannot be read", where_, expected,
                           at_ < text_.size() ? std::string(text_.substr(at_)) : "its end",
                           "tapml/library.h describes signatures"));
  }

  void skip_blanks() {
    while (at_ < end_ && text_[at_] == ' ') ++at_;
  }
  bool ends() {
    skip_blanks();
    return at_ == end_;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (text_.substr(at_, end_ - at_).substr(0, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  // A name, or empty if there is none.
  std::string word() {
    skip_blanks();
    const size_t begin = at_;
    auto letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    auto digit = [](char c) { return c >= '0' && c <= '9'; };
    while (at_ < end_ && (letter(text_[at_]) || (at_ > begin && digit(text_[at_])))) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  std::optional<int64_t> number() {
    skip_blanks();
    int64_t value = 0;
    const char* begin = text_.data() + at_;
    const auto [last, error] = std::from_chars(begin, text_.data() + end_, value);
    if (error != std::errc() || value < 0) return {};
    at_ += static_cast<size_t>(last - begin);
    return value;
  }
  static size_t number_of(std::vector<std::string>& names, const std::string& name) {
    const auto it = std::ranges::find(names, name);
    if (it != names.end()) return static_cast<size_t>(it - names.begin());
    names.push_back(name);
    return names.size() - 1;
  }

  Result<std::vector<DType>> dtypes(const std::string& first) {
    std::vector<DType> result;
    for (std::string name = first;; name = word()) {
      const std::optional<DType> dtype = parse_dtype(name);
      if (!dtype) return wrong("dtypes joined by '|', before this");
      result.push_back(*dtype);
      if (!take("|")) return result;
    }
  }

  Status types() {
    while (!ends()) {
      const std::string name = word();
      if (name.empty() || !take(":")) return wrong("a type, as in T: f32 | f64");
      TAPML_ASSIGN(auto list, dtypes(word()));
      if (std::ranges::find(signature_.types, name) != signature_.types.end()) {
        return wrong("each type once");
      }
      signature_.types.push_back(name);
      type_dtypes_.push_back(std::move(list));
      if (!take(",")) break;
    }
    return ends() ? Status() : wrong("',' or the end");
  }

  Status parameters() {
    while (!ends()) {
      if (take("...")) {
        signature_.more_parameters = true;
        break;
      }
      const std::string name = word();
      if (name.empty()) return wrong("the name of a parameter, or ...");
      signature_.parameters.push_back(name);
      if (!take(",")) break;
    }
    return ends() ? Status() : wrong("',' or the end");
  }

  Status arguments() {
    do {
      RoutineArgument argument;
      argument.name = word();
      if (argument.name.empty() || !take(":")) return wrong("an argument, as in x: f32[n]");
      const std::string type = word();
      const auto known = std::ranges::find(signature_.types, type);
      if (known != signature_.types.end()) {
        argument.type = static_cast<size_t>(known - signature_.types.begin());
        argument.dtypes = type_dtypes_[*argument.type];
      } else if (type != "any") {
        TAPML_ASSIGN(argument.dtypes, dtypes(type));
      }
      if (!take("[")) return wrong("'[' and dimensions");
      if (!take("]")) {
        do {
          TAPML_TRY(item(argument));
        } while (take(","));
        if (!take("]")) return wrong("',' or ']'");
      }
      argument.optional = take("?");
      const bool follows_optional = signature_.inputs == 0 && !signature_.arguments.empty() &&
                                    signature_.arguments.back().optional && !argument.optional;
      if (follows_optional || (argument.optional && outputs_)) {
        return wrong("optional arguments after all other inputs");
      }
      signature_.arguments.push_back(std::move(argument));
    } while (take(","));
    return ends() ? Status() : wrong("',', '->', ';' or the end");
  }

  Status item(RoutineArgument& argument) {
    using Kind = RoutineDim::Kind;
    if (take("*") || take("~")) {
      RoutineDim group{.kind = text_[at_ - 1] == '*' ? Kind::kGroup : Kind::kBroadcast};
      const std::string name = word();
      if (name.empty()) return wrong("the name of a group");
      const size_t index = number_of(signature_.groups, name);
      signature_.most.resize(signature_.groups.size(), kUnlimited);
      group.value = static_cast<int64_t>(index);
      if (take(":")) {
        const std::optional<int64_t> most = number();
        if (!most) return wrong("the maximum number of dimensions of the group");
        signature_.most[index] = static_cast<size_t>(*most);
      }
      argument.dims.push_back(group);
      return {};
    }
    if (const std::optional<int64_t> value = number()) {
      argument.dims.push_back({.kind = Kind::kConstant, .value = *value});
      return {};
    }
    const std::string name = word();
    if (name.empty()) return wrong("a dimension");
    if (name == "_") {
      argument.dims.push_back({});
      return {};
    }
    if (name != "swap" || !take("(")) {
      argument.dims.push_back({.kind = Kind::kName, .value = name_number(name)});
      return {};
    }
    const auto parameter = std::ranges::find(signature_.parameters, word());
    if (parameter == signature_.parameters.end()) return wrong("swap(parameter, m, k)");
    const auto by = static_cast<size_t>(parameter - signature_.parameters.begin());
    int64_t pair[2] = {};
    for (int64_t& side : pair) {
      const std::string one = take(",") ? word() : "";
      if (one.empty()) return wrong("swap(parameter, m, k)");
      side = name_number(one);
    }
    if (!take(")")) return wrong("swap(parameter, m, k)");
    for (int side : {0, 1}) {
      argument.dims.push_back({.kind = Kind::kName,
                               .value = pair[side],
                               .swapped_by = by,
                               .swapped = static_cast<size_t>(pair[1 - side])});
    }
    return {};
  }

  int64_t name_number(const std::string& name) {
    return static_cast<int64_t>(number_of(signature_.names, name));
  }

  // Groups that broadcast determine nothing; at most one other group per argument may still be
  // unknown.
  Result<RoutineSignature> order() {
    using Kind = RoutineDim::Kind;
    std::vector<bool> known(signature_.groups.size()), placed(signature_.arguments.size());
    auto place = [&](bool broadcast) {
      bool any = false;
      for (size_t i = 0; i < signature_.arguments.size(); ++i) {
        std::vector<size_t> fresh;
        size_t wide = 0;
        for (const RoutineDim& item : signature_.arguments[i].dims) {
          const auto group = static_cast<size_t>(item.value);
          wide += item.kind == Kind::kBroadcast;
          if (item.kind == Kind::kGroup && !known[group]) fresh.push_back(group);
        }
        const bool ready = broadcast ? wide == 1 && fresh.empty() : wide == 0 && fresh.size() <= 1;
        if (placed[i] || !ready) continue;
        placed[i] = any = true;
        // An argument that a call may omit determines nothing for the others.
        if (!fresh.empty() && !signature_.arguments[i].optional) known[fresh[0]] = true;
        signature_.order.push_back(i);
      }
      return any;
    };
    while (place(false)) continue;
    while (place(true)) continue;
    for (size_t i = 0; i < placed.size(); ++i) {
      if (placed[i]) continue;
      return fail(user_error(
          "the signature of a routine does not determine how the dimensions of " +
              signature_.arguments[i].name + " are divided",
          where_, "one group of dimensions that no other argument determines", signature_.text));
    }
    return std::move(signature_);
  }

  std::string_view text_;
  const std::string& where_;
  size_t at_ = 0, end_ = 0;
  bool outputs_ = false;
  RoutineSignature signature_;
  std::vector<std::vector<DType>> type_dtypes_;
};

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

size_t least_rank(const RoutineArgument& argument) {
  return static_cast<size_t>(std::ranges::count_if(
      argument.dims, [](const RoutineDim& item) { return !item.is_group(); }));
}

bool has_group(const RoutineArgument& argument) {
  return std::ranges::any_of(argument.dims, &RoutineDim::is_group);
}

std::string dtypes_text(const std::vector<DType>& dtypes) {
  return join(dtypes, dtype_name, " or ");
}

}  // namespace

Result<RoutineSignature> parse_routine_signature(std::string_view text, const std::string& where) {
  return SignatureParser(text, where).run();
}

std::string fault_message(const RoutineSignature& signature, const std::string& routine,
                          const RoutineFault& fault) {
  const std::string of = "routine " + routine + " " + fault.message;
  if (!fault.argument) return "the call of " + of;
  return "argument " + signature.arguments[*fault.argument].name + " of " + of;
}

std::optional<RoutineFault> find_type_fault(const RoutineSignature& signature,
                                            std::span<const RoutineTensor> inputs,
                                            std::span<const RoutineTensor> outputs,
                                            size_t parameters) {
  const auto needed = static_cast<size_t>(
      std::count_if(signature.arguments.begin(),
                    signature.arguments.begin() + static_cast<ptrdiff_t>(signature.inputs),
                    [](const RoutineArgument& argument) { return !argument.optional; }));
  if (inputs.size() < needed || inputs.size() > signature.inputs) {
    std::string expected = counted(needed, "input");
    if (needed < signature.inputs) {
      expected = std::to_string(needed) + " to " + counted(signature.inputs, "input");
    }
    return RoutineFault{
        {}, "has the wrong number of inputs", expected, counted(inputs.size(), "input")};
  }
  const size_t made = signature.arguments.size() - signature.inputs;
  if (outputs.size() != made) {
    return RoutineFault{{},
                        "has the wrong number of outputs",
                        counted(made, "output"),
                        counted(outputs.size(), "output")};
  }
  if (parameters < signature.parameters.size() ||
      (parameters > signature.parameters.size() && !signature.more_parameters)) {
    std::string names;
    for (const std::string& name : signature.parameters)
      names += (names.empty() ? ": " : ", ") + name;
    if (signature.more_parameters) names += names.empty() ? ": ..." : ", ...";
    return RoutineFault{{},
                        "has the wrong number of parameters",
                        (signature.more_parameters ? "at least " : "") +
                            counted(signature.parameters.size(), "parameter") + names,
                        counted(parameters, "parameter")};
  }
  struct Chosen {
    std::optional<DType> dtype;
    size_t argument = 0;
  };
  std::vector<Chosen> chosen(signature.types.size());
  for (size_t i = 0; i < signature.arguments.size(); ++i) {
    if (i >= inputs.size() && i < signature.inputs) continue;
    const RoutineArgument& argument = signature.arguments[i];
    const RoutineTensor& tensor = i < signature.inputs ? inputs[i] : outputs[i - signature.inputs];
    if (tensor.dtype) {
      const DType dtype = *tensor.dtype;
      std::string expected;
      if (!argument.dtypes.empty() &&
          std::ranges::find(argument.dtypes, dtype) == argument.dtypes.end()) {
        expected = dtypes_text(argument.dtypes);
      } else if (argument.type && chosen[*argument.type].dtype.value_or(dtype) != dtype) {
        const Chosen& other = chosen[*argument.type];
        expected = dtype_name(*other.dtype) + (", as " + signature.arguments[other.argument].name);
      }
      if (!expected.empty()) {
        return RoutineFault{i, "has the wrong dtype", expected, dtype_name(dtype)};
      }
      if (argument.type && !chosen[*argument.type].dtype) chosen[*argument.type] = {dtype, i};
    }
    if (tensor.rank) {
      const size_t least = least_rank(argument);
      if (*tensor.rank < least || (*tensor.rank > least && !has_group(argument))) {
        return routine_signature::rank_fault(signature, i, *tensor.rank);
      }
    }
  }
  return {};
}

namespace routine_signature {

RoutineFault rank_fault(const RoutineSignature& signature, size_t argument, size_t found) {
  const RoutineArgument& wanted = signature.arguments[argument];
  size_t least = least_rank(wanted);
  std::string expected = (has_group(wanted) ? "at least " : "") + counted(least, "dimension");
  if (found >= least && has_group(wanted)) expected = "as many as in " + signature.text;
  return {argument, "has the wrong rank", expected, counted(found, "dimension")};
}

std::optional<size_t> free_dims(const RoutineSignature& signature, const RoutineArgument& argument,
                                size_t rank, std::span<const std::optional<size_t>> bound) {
  size_t used = 0;
  const RoutineDim* free = nullptr;
  for (const RoutineDim& item : argument.dims) {
    const auto group = static_cast<size_t>(item.value);
    if (!item.is_group()) {
      ++used;
    } else if (item.kind == RoutineDim::Kind::kGroup && bound[group]) {
      used += *bound[group];
    } else {
      free = &item;
    }
  }
  if (rank < used || (rank > used && !free)) return {};
  const size_t rest = rank - used;
  if (!free) return rest;
  const auto group = static_cast<size_t>(free->value);
  size_t most = signature.most[group];
  if (free->kind == RoutineDim::Kind::kBroadcast && bound[group]) {
    most = std::min(most, *bound[group]);
  }
  return rest <= most ? std::optional(rest) : std::nullopt;
}

}  // namespace routine_signature

}  // namespace tapml
