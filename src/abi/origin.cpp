#include "abi/origin.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "base/strings.h"

namespace tapml {

namespace {

// One component of a layer path: a name, or a set of layer numbers.
struct Part {
  std::string name;
  std::set<int64_t> numbers;  // not empty: `name` is not used
};

using Path = std::vector<Part>;

bool is_number(const std::string& text) {
  if (text.empty() || text.size() > 9 || (text.size() > 1 && text[0] == '0')) return false;
  return text.find_first_not_of("0123456789") == std::string::npos;
}

Path split(const std::string& text) {
  Path path;
  size_t begin = 0;
  while (true) {
    size_t end = text.find('.', begin);
    std::string piece = text.substr(begin, end == std::string::npos ? end : end - begin);
    Part part;
    if (is_number(piece)) {
      part.numbers.insert(std::stoll(piece));
    } else {
      part.name = std::move(piece);
    }
    path.push_back(std::move(part));
    if (end == std::string::npos) return path;
    begin = end + 1;
  }
}

std::string numbers_to_string(const std::set<int64_t>& numbers) {
  if (numbers.size() == 1) return std::to_string(*numbers.begin());
  std::string text = "{";
  for (auto it = numbers.begin(); it != numbers.end();) {
    int64_t first = *it;
    int64_t last = first;
    for (++it; it != numbers.end() && *it == last + 1; ++it) last = *it;
    if (text.size() > 1) text += ",";
    text += std::to_string(first);
    // Two neighbours read better as a list than as a run.
    if (last > first) text += (last == first + 1 ? "," : "..") + std::to_string(last);
  }
  return text + "}";
}

std::string path_to_string(const Path& path) {
  std::string text;
  for (size_t i = 0; i < path.size(); ++i) {
    if (i > 0) text += ".";
    text += path[i].numbers.empty() ? path[i].name : numbers_to_string(path[i].numbers);
  }
  return text;
}

// Joins paths that differ only in the numbers at `position`, at the position of the first of them.
std::vector<Path> join_at(const std::vector<Path>& paths, size_t position) {
  std::vector<Path> joined;
  std::map<std::string, size_t> place;  // maps the path without that part to its index in `joined`
  for (const Path& path : paths) {
    if (position >= path.size() || path[position].numbers.empty()) {
      joined.push_back(path);
      continue;
    }
    Path key_path = path;
    key_path[position] = Part{"*", {}};
    auto [it, added] = place.emplace(path_to_string(key_path), joined.size());
    if (added) {
      joined.push_back(path);
    } else {
      joined[it->second][position].numbers.insert(path[position].numbers.begin(),
                                                  path[position].numbers.end());
    }
  }
  return joined;
}

}  // namespace

Origin merge_origins(const Origin& a, const Origin& b) {
  Origin merged = a;
  merged.layers.insert(b.layers.begin(), b.layers.end());
  merged.lines.insert(b.lines.begin(), b.lines.end());
  return merged;
}

std::string layers_summary(const std::set<std::string>& layers) {
  std::vector<Path> paths;
  size_t longest = 0;
  for (const std::string& text : layers) {
    paths.push_back(split(text));
    longest = std::max(longest, paths.back().size());
  }
  for (size_t position = longest; position-- > 0;) paths = join_at(paths, position);
  return join(paths, path_to_string);
}

std::string lines_summary(const Origin& origin) {
  std::map<std::string, std::set<int64_t>> lines_of;  // by file
  std::set<std::string> others;
  for (const std::string& line : origin.lines) {
    const size_t colon = line.rfind(':');
    if (colon != std::string::npos && is_number(line.substr(colon + 1))) {
      lines_of[line.substr(0, colon)].insert(std::stoll(line.substr(colon + 1)));
    } else {
      others.insert(line);
    }
  }
  std::vector<std::string> texts(others.begin(), others.end());
  for (const auto& [file, lines] : lines_of) {
    texts.push_back(file + ":" +
                    join(lines, [](int64_t line) { return std::to_string(line); }, ","));
  }
  return join(texts);
}

}  // namespace tapml
