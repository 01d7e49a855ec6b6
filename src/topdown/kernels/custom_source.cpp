#include "topdown/kernels/custom_source.h"

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "ir/exceptions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::topdown {

namespace {

constexpr const char* kHint = "`tapml kernel skeleton SUITE NAME --target T` prints a header";
constexpr std::string_view kSignature = "prim def ", kLaunch = "launch ", kOver = " over ",
                           kGroups = " in groups of ", kBlank = " \t\r";
constexpr int64_t kDefaultGroup = 64, kMostThreads = 1 << 20;

// A line of the header with its slashes replaced by blanks, so that columns stay the same.
struct HeaderLine {
  int number = 0;
  std::string text;
  bool begins_with(std::string_view word) const {
    const size_t at = text.find_first_not_of(kBlank);
    return at != std::string::npos && std::string_view(text).substr(at).starts_with(word);
  }
};

// The comment lines before the first line of code; skips directives (#version).
std::vector<HeaderLine> header_of(const std::string& text) {
  std::vector<HeaderLine> lines;
  int number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    const size_t first = line.find_first_not_of(kBlank);
    if (first == std::string::npos || line[first] == '#') continue;
    if (line.compare(first, 2, "//") != 0) break;
    line[first] = line[first + 1] = ' ';
    lines.push_back({number, std::move(line)});
  }
  return lines;
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlank);
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(kBlank) - begin + 1));
}

// Where the first bracket closes; npos: not in `text`. `depth` continues from the text before.
size_t closing(const std::string& text, int& depth) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && --depth == 0) return i;
  }
  return std::string::npos;
}

// Reads one program of the file; positions in messages are those of the file. Returns the name and
// the program.
std::pair<std::string, tir::PrimFuncRef> parse_program(const std::string& text,
                                                       const std::string& file) {
  try {
    const Module module = text::parse(text, file);
    if (module.functions.size() != 1) throw_user("the header holds more than a signature", file);
    const auto& [name, function] = *module.functions.begin();
    return {name, std::dynamic_pointer_cast<const tir::PrimFunc>(function)};
  } catch (const CompilerException& exception) {
    Error error = exception.error();
    error.message = "malformed header in a kernel's source: " + error.message;
    if (error.hint.empty()) error.hint = kHint;
    throw_error(std::move(error));
  }
}

// The scalars of `func` as text of parameters.
std::string scalars_text(const tir::PrimFunc& func) {
  std::string text;
  for (const Var& scalar : func.scalars) text += ", " + scalar->name + ": i64";
  return text;
}

class HeaderReader {
 public:
  HeaderReader(const std::string& file, const std::string& text) : lines_(header_of(text)) {
    source_.file = file;
    source_.text = text;
  }

  CustomSource run() {
    read_signature();
    for (const HeaderLine& line : lines_) {
      if (line.begins_with(kLaunch)) read_launch(line);
    }
    if (source_.launches.empty()) add_default_launch();
    return std::move(source_);
  }

 private:
  [[noreturn]] void refuse(const std::string& message, int line, const std::string& expected,
                           const std::string& found) const {
    throw_user(message, source_.where(line), expected, found, kHint);
  }

  void read_signature() {
    auto first = std::find_if(lines_.begin(), lines_.end(),
                              [](const HeaderLine& line) { return line.begins_with(kSignature); });
    if (first == lines_.end()) {
      refuse("the kernel's source has no signature", 1,
             "a comment at its top with `// prim def <ops>(x: Buffer((n, 8), f32), ..., n: i64)`",
             lines_.empty() ? "no comment of `//` lines at the top" : "no line `// prim def ...`");
    }
    source_.line = first->number;
    std::string text = first->number == 1 ? "module " : "module";
    int at = 1, depth = 0;
    for (auto line = first; line != lines_.end(); ++line) {
      text += std::string(static_cast<size_t>(line->number - at), '\n');
      at = line->number;
      const size_t end = closing(line->text, depth);
      text += line->text.substr(0, end == std::string::npos ? end : end + 1);
      if (end != std::string::npos) break;
    }
    auto [name, signature] = parse_program(text + " { }\n", source_.file);
    source_.name = name;
    source_.signature = signature;
    int32_t parameters = 0, workspaces = 0;
    for (const tir::Param& param : signature->params) {
      if (param.mode == AccessMode::kPrepared) {
        refuse("a custom kernel cannot prepare weights", source_.line,
               "in, out, inout or workspace parameters", "prepared " + param.buffer->name);
      }
      parameters += param.mode != AccessMode::kWorkspace;
    }
    int32_t next = 0;
    for (const tir::Param& param : signature->params) {
      const bool workspace = param.mode == AccessMode::kWorkspace;
      tensors_[param.buffer->name] = workspace ? parameters + workspaces++ : next++;
    }
    for (size_t i = 0; i < signature->scalars.size(); ++i) {
      scalars_[signature->scalars[i]->name] = static_cast<int32_t>(i);
    }
  }

  // launch ENTRY(x, y, n) over EXTENT [in groups of N]
  void read_launch(const HeaderLine& line) {
    const std::string form = "launch ENTRY(tensors, scalars) over EXTENT in groups of THREADS";
    codegen::CustomLaunch launch;
    launch.line = line.number;
    const std::string& text = line.text;
    const size_t begin = text.find(kLaunch) + kLaunch.size();
    const size_t open = text.find('(', begin);
    const size_t close = text.find(')', begin);
    const size_t over = text.find(kOver, begin);
    if (open == std::string::npos || close == std::string::npos || over == std::string::npos ||
        open > close || close > over) {
      refuse("malformed launch in the header", line.number, form, trimmed(text));
    }
    launch.entry = trimmed(std::string_view(text).substr(begin, open - begin));
    if (launch.entry.empty()) {
      refuse("a launch in the header names no function", line.number, form, trimmed(text));
    }
    read_arguments(text.substr(open + 1, close - open - 1), line.number, launch);
    size_t end = text.rfind(kGroups);
    if (end == std::string::npos || end < over) {
      end = text.size();
    } else {
      launch.group = read_group(trimmed(text.substr(end + kGroups.size())), line.number);
    }
    const size_t extent = over + kOver.size();
    // The extent at its position in the file, as a dimension.
    const std::string program = std::string("module prim def extent(e: Buffer((") +
                                std::string(static_cast<size_t>(line.number - 1), '\n') +
                                std::string(extent, ' ') + text.substr(extent, end - extent) +
                                "\n, 1), u8)" + scalars_text(*source_.signature) + ") { }\n";
    const auto parsed = parse_program(program, source_.file).second;
    VarMap same;
    for (size_t i = 0; i < parsed->scalars.size(); ++i) {
      same[parsed->scalars[i].get()] = source_.signature->scalars.at(i);
    }
    launch.extent = substitute(parsed->params.at(0).buffer->shape.at(0), same);
    source_.launches.push_back(std::move(launch));
  }

  void read_arguments(const std::string& list, int line, codegen::CustomLaunch& launch) const {
    for (size_t begin = 0; begin <= list.size() && !trimmed(list).empty();) {
      const size_t end = std::min(list.find(',', begin), list.size());
      const std::string name = trimmed(std::string_view(list).substr(begin, end - begin));
      begin = end + 1;
      if (auto tensor = tensors_.find(name); tensor != tensors_.end()) {
        if (!launch.scalars.empty()) {
          refuse("a launch in the header names a tensor after a scalar", line,
                 "tensors, then scalars", list);
        }
        launch.buffers.push_back(tensor->second);
      } else if (auto scalar = scalars_.find(name); scalar != scalars_.end()) {
        launch.scalars.push_back(scalar->second);
      } else {
        std::string known;
        for (const auto* names : {&tensors_, &scalars_}) {
          for (const auto& [one, index] : *names) known += (known.empty() ? "" : ", ") + one;
        }
        refuse("a launch in the header names no parameter of the signature", line,
               "some of " + known, in_quotes(name));
      }
    }
  }

  int64_t read_group(const std::string& text, int line) const {
    const bool digits =
        !text.empty() && text.size() < 9 &&
        std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
    const int64_t value = digits ? std::stoll(text) : 0;
    if (value < 1 || value > kMostThreads) {
      refuse("a launch in the header has no size of work groups", line,
             "an integer from 1 to " + std::to_string(kMostThreads), in_quotes(text));
    }
    return value;
  }

  // One function with the kernel's name has all parameters; its work items are the elements of the
  // first output.
  void add_default_launch() {
    codegen::CustomLaunch launch;
    launch.entry = source_.name;
    launch.group = kDefaultGroup;
    const std::vector<tir::Param> tensors = source_.tensors();
    for (size_t i = 0; i < tensors.size(); ++i) {
      launch.buffers.push_back(static_cast<int32_t>(i));
      if (launch.extent || tensors[i].mode == AccessMode::kIn) continue;
      launch.extent = 1;
      for (const PrimExpr& dim : tensors[i].buffer->shape) launch.extent = launch.extent * dim;
    }
    if (!launch.extent) {
      refuse("the signature has no output", source_.line, "an out or inout parameter", "none");
    }
    for (size_t i = 0; i < source_.signature->scalars.size(); ++i) {
      launch.scalars.push_back(static_cast<int32_t>(i));
    }
    source_.launches.push_back(std::move(launch));
  }

  std::vector<HeaderLine> lines_;
  CustomSource source_;
  std::map<std::string, int32_t> tensors_, scalars_;
};

}  // namespace

CustomSource parse_custom_source(const std::string& file, const std::string& text) {
  return HeaderReader(file, text).run();
}

std::string signature_text(const tir::PrimFunc& func) {
  tir::PrimFunc bare = func;
  bare.facts = {};
  bare.attrs.clear();
  bare.body = tir::make_seq({});
  std::erase_if(bare.params,
                [](const tir::Param& param) { return param.mode == AccessMode::kWorkspace; });
  const std::string printed = text::print(bare, "f");
  std::string line;
  const size_t begin = printed.find('(');
  for (size_t i = begin; i < printed.rfind(')') + 1; ++i) {
    const bool layout = printed[i] == '\n' || (printed[i] == ' ' && line.ends_with(' ')) ||
                        (printed[i] == ' ' && line.ends_with('('));
    if (!layout) line += printed[i];
    if (printed[i] == '\n' && line.ends_with(',')) line += ' ';
  }
  return line;
}

}  // namespace tapml::topdown
