#include "server/files/static_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>

#include "base/percent.h"
#include "io/json.h"
#include "server/files/byte_range.h"

namespace tapml::server {

namespace {

namespace fs = std::filesystem;

// Types of the files of pages; others of their folder are not served.
struct FileType {
  std::string_view extension, type;
};
constexpr FileType kTypes[] = {
    {".html", "text/html; charset=utf-8"},
    {".mjs", "text/javascript; charset=utf-8"},
    {".js", "text/javascript; charset=utf-8"},
    {".ts", "text/plain; charset=utf-8"},
    {".css", "text/css; charset=utf-8"},
    {".json", "application/json"},
    {".wasm", "application/wasm"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".ico", "image/x-icon"},
    {".txt", "text/plain; charset=utf-8"},
};

std::string_view type_of(const std::string& name) {
  for (const FileType& row : kTypes) {
    if (name.ends_with(row.extension)) return row.type;
  }
  return {};
}

class OpenFile {
 public:
  explicit OpenFile(int fd) : fd_(fd) {}
  ~OpenFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  OpenFile(const OpenFile&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

struct Found {
  std::shared_ptr<OpenFile> file;
  int64_t bytes = 0;
  std::string tag;  // changes with the file
};

// Nothing if there is no such file within the folder.
std::optional<Found> find_file(const std::string& folder, const fs::path& relative) {
  std::error_code error;
  const fs::path root = fs::canonical(folder, error);
  if (error) return {};
  const fs::path path = fs::canonical(root / relative, error);
  if (error) return {};
  const auto [end, inside] = std::mismatch(root.begin(), root.end(), path.begin(), path.end());
  if (end != root.end()) return {};
  // Without waiting for the other end of a pipe.
  auto file = std::make_shared<OpenFile>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (file->get() < 0 || ::fstat(file->get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  const std::string tag = "\"" + std::to_string(status.st_size) + "-" +
                          std::to_string(status.st_mtim.tv_sec) + "." +
                          std::to_string(status.st_mtim.tv_nsec) + "\"";
  return Found{std::move(file), status.st_size, tag};
}

BodySource part_of(std::shared_ptr<OpenFile> file, int64_t begin, int64_t end) {
  return {end - begin, [file = std::move(file), begin](int64_t at, int64_t most) {
            std::string piece(static_cast<size_t>(most), '\0');
            ssize_t count = 0;
            do {
              count = ::pread(file->get(), piece.data(), piece.size(), begin + at);
            } while (count < 0 && errno == EINTR);
            piece.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
            return piece;
          }};
}

bool matches(std::string_view list, const std::string& tag) {
  return list == "*" || list.find(tag) != std::string_view::npos;
}

// The request with its answer, and what all answers have in common.
class Answering {
 public:
  Answering(const HttpRequest& request, const std::shared_ptr<Exchange>& exchange,
            const AccessRules& access)
      : request_(request), exchange_(exchange), headers_(origin_headers(access, request)) {
    const bool shared = !headers_.empty();
    headers_.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
    headers_.emplace_back("Cross-Origin-Embedder-Policy", "require-corp");
    headers_.emplace_back("Cross-Origin-Resource-Policy", shared ? "cross-origin" : "same-origin");
    headers_.emplace_back("Content-Security-Policy", "frame-ancestors 'self'");
    headers_.emplace_back("Cache-Control", "no-cache");
  }

  void text(int status, const std::string& message) {
    exchange_->respond(status, "text/plain; charset=utf-8", message + "\n", std::move(headers_));
  }
  void json(std::string document) {
    exchange_->respond(200, "application/json", std::move(document), std::move(headers_));
  }
  void with(std::string name, std::string value) {
    headers_.emplace_back(std::move(name), std::move(value));
  }

  void file(const Found& found, std::string_view type) {
    with("ETag", found.tag);
    with("Accept-Ranges", "bytes");
    if (matches(request_.if_none_match, found.tag)) {
      exchange_->respond(304, std::string(type), "", std::move(headers_));
      return;
    }
    const bool is_same = request_.if_range.empty() || request_.if_range == found.tag;
    const ByteRange range = parse_range(is_same ? request_.range : "", found.bytes);
    const std::string size = std::to_string(found.bytes);
    switch (range.kind) {
      case ByteRange::Kind::kWhole:
        exchange_->respond_from(200, std::string(type), part_of(found.file, 0, found.bytes),
                                std::move(headers_));
        return;
      case ByteRange::Kind::kPart:
        with("Content-Range", "bytes " + std::to_string(range.begin) + "-" +
                                  std::to_string(range.end - 1) + "/" + size);
        exchange_->respond_from(206, std::string(type), part_of(found.file, range.begin, range.end),
                                std::move(headers_));
        return;
      case ByteRange::Kind::kUnsatisfiable:
        with("Content-Range", "bytes */" + size);
        text(416, "the range lies beyond the file of " + size + " bytes");
        return;
    }
  }

 private:
  const HttpRequest& request_;
  const std::shared_ptr<Exchange>& exchange_;
  HttpHeaders headers_;
};

std::string model_list(const std::map<std::string, std::string>& models) {
  std::vector<Json> list;
  for (const auto& [name, folder] : models) {
    list.push_back(Json::object({{"name", Json::string(name)}}));
  }
  return Json::array(std::move(list)).dump();
}

}  // namespace

std::optional<std::vector<std::string>> path_parts(std::string_view path) {
  if (!path.starts_with('/')) return {};
  std::vector<std::string> parts;
  while (!path.empty()) {
    path.remove_prefix(1);
    const size_t end = std::min(path.find('/'), path.size());
    auto part = percent_decoded(path.substr(0, end));
    path.remove_prefix(end);
    // A part that begins with a dot is hidden, or leads elsewhere.
    if (!part || part->empty() || part->starts_with('.') ||
        part->find_first_of(std::string_view("/\\\0", 3)) != std::string::npos) {
      return {};
    }
    parts.push_back(*std::move(part));
  }
  return parts;
}

void StaticFiles::handle(const HttpRequest& request,
                         const std::shared_ptr<Exchange>& exchange) const {
  Answering answer(request, exchange, options_.access);
  if (const auto refused = refuse_access(options_.access, request, false)) {
    answer.text(refused->status, refused->message);
    return;
  }
  if (request.method != "GET" && request.method != "HEAD") {
    answer.with("Allow", "GET, HEAD");
    answer.text(405, "files are read by GET and HEAD");
    return;
  }
  if (request.path == "/") {
    answer.with("Location", options_.home);
    answer.text(302, options_.home);
    return;
  }
  const std::string missing = "there is no such file here";
  const auto parts = path_parts(request.path);
  if (!parts) {
    answer.text(404, missing);
    return;
  }
  if (*parts == std::vector<std::string>{"models", "index.json"}) {
    answer.json(model_list(options_.models));
    return;
  }
  std::string folder = options_.pages;
  auto first = parts->begin();
  const bool is_model = parts->size() > 2 && parts->front() == "models";
  if (is_model) {
    const auto model = options_.models.find((*parts)[1]);
    if (model == options_.models.end()) {
      answer.text(404, "there is no model of this name: /models/index.json lists them");
      return;
    }
    folder = model->second;
    first += 2;
  }
  fs::path relative;
  for (; first != parts->end(); ++first) relative /= *first;
  if (!is_model && !relative.has_extension()) relative += ".html";
  std::string_view type = type_of(relative.filename());
  if (type.empty() && is_model) type = "application/octet-stream";
  const auto found = type.empty() ? std::nullopt : find_file(folder, relative);
  if (!found) {
    answer.text(404, missing);
  } else {
    answer.file(*found, type);
  }
}

}  // namespace tapml::server
