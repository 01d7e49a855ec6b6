#include "exec/executable_file.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "base/rounding.h"
#include "exec/fields.h"
#include "exec/sections.h"
#include "exec/validate.h"

namespace tapml {

namespace {

constexpr SectionFormat kFormat = {
    {'\x89', 'T', 'A', 'P', 'M', 'L', 'X', '\n'}, kExecutableVersion, "a tapml executable"};

// The kinds of sections; a file has all of them, in this order.
enum SectionKind : uint32_t {
  kAbout = 1,   // target, options, model interface
  kSignatures,  // signature table, implementations, the modules' entries
  kBytecode,    // functions, call sites, names of host functions
  kConstants,   // table, then the bytes of each at a multiple of 64
  kSpecs,       // the kernels' specs
  kSource,      // origin of the weights
  kModule,      // text of the module
  kCode,        // digest of kSignatures, then the bytes of the modules
  kLastSection = kCode,
};
constexpr const char* kSectionNames[] = {"",      "about",  "signatures", "bytecode", "constants",
                                         "specs", "source", "module",     "code"};

struct About {
  Executable& executable;
  std::string& compiler;
  std::vector<std::pair<std::string, std::string>>& options;
};

template <class A>
void fields(A& a, About& x) {
  a(x.executable.target);
  a(x.executable.fusion_policy);
  a(x.executable.model);
  a(x.compiler);
  a(x.options);
}

// A module without its bytes.
struct ModuleRecord {
  std::string platform, format;
  std::vector<std::string> entries;
  std::string cpu, features;
  int64_t size = 0;
};

template <class A>
void fields(A& a, ModuleRecord& x) {
  a(x.platform);
  a(x.format);
  a(x.entries);
  a(x.cpu);
  a(x.features);
  a(x.size);
}

struct ConstantRecord {
  DType dtype = DType::kF32;
  Shape shape;
  int64_t offset = 0;  // in the part after the table
};

template <class A>
void fields(A& a, ConstantRecord& x) {
  a.choice(x.dtype, DType::kF64);
  a(x.shape);
  a(x.offset);
}

size_t aligned(size_t size) { return round_up(size, kSectionAlignment); }

void pad(ByteWriter& writer) {
  while (writer.size() % kSectionAlignment != 0) writer.integer(0, 1);
}

// The table's size (u64), the table, then the bytes, each constant at a multiple of 64.
std::vector<std::byte> write_constants(const std::vector<HostTensor>& constants) {
  std::vector<ConstantRecord> records;
  int64_t end = 0;
  for (const HostTensor& constant : constants) {
    end = static_cast<int64_t>(aligned(static_cast<size_t>(end)));
    records.push_back({constant.dtype(), constant.shape(), end});
    end += static_cast<int64_t>(constant.byte_size());
  }
  ByteWriter table;
  table(records);
  ByteWriter writer;
  writer.integer(table.size(), 8);
  writer.raw(table.take());
  pad(writer);
  for (const HostTensor& constant : constants) {
    pad(writer);
    writer.raw(constant.bytes());
  }
  return writer.take();
}

class FileReader {
 public:
  FileReader(std::shared_ptr<const void> owner, const std::string& source)
      : owner_(std::move(owner)), source_(source) {}

  Result<ExecutableFile> run(std::span<const std::byte> bytes, bool skip_checksums) {
    TAPML_ASSIGN(sections_, read_sections(kFormat, bytes, source_, skip_checksums));
    for (uint32_t kind = kAbout; kind <= kLastSection; ++kind) {
      if (!sections_.contains(kind)) {
        return fail(user_error("the file is malformed: a section is missing", where(kind)));
      }
    }
    if (sections_.size() != kLastSection) {
      return fail(user_error("the file is malformed: a section of an unknown kind", source_));
    }
    Executable& executable = file_.executable;
    About about{executable, file_.compiler, file_.options};
    TAPML_TRY(read(kAbout, about));
    TAPML_TRY(read_signatures());
    TAPML_TRY(read(kBytecode, executable.functions, executable.call_sites, executable.packed,
                   executable.static_storages));
    TAPML_TRY(read_constants());
    TAPML_TRY(read_specs());
    TAPML_TRY(read(kSource, file_.source));
    auto text = sections_[kModule];
    file_.module.assign(reinterpret_cast<const char*>(text.data()), text.size());
    TAPML_TRY(read_code());
    if (Status valid = validate(executable); !valid) {
      Error error = std::move(valid).error();
      return fail(user_error(error.message, source_ + ", " + error.where));
    }
    return std::move(file_);
  }

 private:
  std::string where(uint32_t kind) const { return source_ + ", section " + kSectionNames[kind]; }

  template <class... Parts>
  Status read(uint32_t kind, Parts&... parts) {
    ByteReader reader(sections_[kind]);
    (reader(parts), ...);
    return reader.finish(where(kind));
  }

  Status read_signatures() {
    TAPML_TRY(
        read(kSignatures, file_.executable.kernels, file_.executable.implementations, modules_));
    return {};
  }

  Status read_constants() {
    auto bytes = sections_[kConstants];
    ByteReader head(bytes);
    uint64_t size = head.integer(8);
    auto table = head.raw(size);
    if (head.failed()) return head.finish(where(kConstants));
    ByteReader reader(table);
    std::vector<ConstantRecord> records;
    reader(records);
    TAPML_TRY(reader.finish(where(kConstants)));
    size_t first = std::min(aligned(8 + size), bytes.size());
    auto data = bytes.subspan(first);
    for (const ConstantRecord& record : records) {
      auto count = checked_byte_count(record.dtype, record.shape);
      if (!count || record.offset < 0 || record.offset % kSectionAlignment != 0 ||
          static_cast<uint64_t>(record.offset) > data.size() ||
          static_cast<uint64_t>(*count) > data.size() - static_cast<uint64_t>(record.offset)) {
        return fail(user_error("the file is malformed: a constant is outside of its section",
                               where(kConstants)));
      }
      file_.executable.constants.push_back(
          HostTensor::view(record.dtype, record.shape, data.data() + record.offset, owner_));
    }
    return {};
  }

  Status read_specs() {
    std::vector<std::string> specs;
    TAPML_TRY(read(kSpecs, specs));
    auto& kernels = file_.executable.kernels;
    if (specs.size() != kernels.size()) {
      return fail(
          user_error("the file is malformed: it does not have one spec per kernel", where(kSpecs)));
    }
    for (size_t i = 0; i < specs.size(); ++i) kernels[i].spec = std::move(specs[i]);
    return {};
  }

  // Machine code relies on the signatures that it was made for: sizes, order, extents. A digest
  // stored with the code binds them to it, so whoever is trusted with the code can be trusted with
  // the signatures.
  Status read_code() {
    auto bytes = sections_[kCode];
    Sha256Digest digest = sha256(sections_[kSignatures]);
    if (bytes.size() < kSectionAlignment ||
        std::memcmp(bytes.data(), digest.data(), digest.size()) != 0) {
      return fail(user_error("the file was altered: its code was made for other signatures",
                             where(kCode), "", "", "create the file again"));
    }
    size_t at = kSectionAlignment;
    for (ModuleRecord& record : modules_) {
      at = aligned(at);
      if (record.size < 0 || at > bytes.size() ||
          static_cast<uint64_t>(record.size) > bytes.size() - at) {
        return fail(
            user_error("the file is malformed: a module is outside of its section", where(kCode)));
      }
      auto part = bytes.subspan(at, static_cast<size_t>(record.size));
      ModuleBlob blob;
      blob.platform = std::move(record.platform);
      blob.format = std::move(record.format);
      blob.entries = std::move(record.entries);
      blob.cpu = std::move(record.cpu);
      blob.features = std::move(record.features);
      blob.bytes.assign(part.begin(), part.end());
      file_.executable.modules.push_back(std::move(blob));
      at += part.size();
    }
    return {};
  }

  std::shared_ptr<const void> owner_;
  const std::string& source_;
  std::map<uint32_t, std::span<const std::byte>> sections_;
  std::vector<ModuleRecord> modules_;
  ExecutableFile file_;
};

}  // namespace

Result<std::vector<std::byte>> write_executable(const ExecutableFile& file) {
  const Executable& executable = file.executable;
  TAPML_TRY(validate(executable));
  std::vector<Section> sections;
  auto add = [&](uint32_t kind, const auto&... parts) {
    ByteWriter writer;
    (writer(parts), ...);
    sections.push_back({kind, writer.take()});
  };
  auto& writable = const_cast<ExecutableFile&>(file);  // fields() serves both directions
  add(kAbout, About{writable.executable, writable.compiler, writable.options});
  std::vector<ModuleRecord> modules;
  for (const ModuleBlob& blob : executable.modules) {
    modules.push_back({blob.platform, blob.format, blob.entries, blob.cpu, blob.features,
                       static_cast<int64_t>(blob.bytes.size())});
  }
  add(kSignatures, executable.kernels, executable.implementations, modules);
  Sha256Digest digest = sha256(sections.back().bytes);
  add(kBytecode, executable.functions, executable.call_sites, executable.packed,
      executable.static_storages);
  sections.push_back({kConstants, write_constants(executable.constants)});
  std::vector<std::string> specs;
  for (const KernelInfo& kernel : executable.kernels) specs.push_back(kernel.spec);
  add(kSpecs, specs);
  add(kSource, file.source);
  ByteWriter text;
  text.raw(std::as_bytes(std::span(file.module)));
  sections.push_back({kModule, text.take()});
  ByteWriter code;
  code.raw(std::as_bytes(std::span(digest)));
  pad(code);
  for (const ModuleBlob& blob : executable.modules) {
    pad(code);
    code.raw(blob.bytes);
  }
  sections.push_back({kCode, code.take()});
  return write_sections(kFormat, sections);
}

Result<ExecutableFile> read_executable(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner,
                                       const std::string& source) {
  return FileReader(std::move(owner), source).run(bytes, false);
}

Result<ExecutableFile> read_executable_unchecked(std::span<const std::byte> bytes,
                                                 std::shared_ptr<const void> owner,
                                                 const std::string& source) {
  return FileReader(std::move(owner), source).run(bytes, true);
}

bool looks_like_executable(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagicSize &&
         std::memcmp(bytes.data(), kFormat.magic.data(), kMagicSize) == 0;
}

}  // namespace tapml
