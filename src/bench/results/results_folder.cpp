#include "bench/results/results_folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>

#include <fmt/format.h>

#include "base/sha256.h"
#include "tensor/staged_files.h"

namespace lanefold::bench {
namespace {

Diagnostic exists(const std::string& path) {
  return {Code::output_folder_exists, fmt::format("there is something at \"{}\" already", path),
          "name another folder: results never replace or join older ones", path};
}

Diagnostic not_made(const std::string& path, const char* why) {
  return {Code::write_failed, fmt::format("the folder \"{}\" cannot be made: {}", path, why),
          "check the path and its permissions", path};
}

Status write_file(const std::string& path, std::string_view text) {
  tensor::StagedFiles files;
  LANEFOLD_CHECK(files.stage(path, {std::as_bytes(std::span(text))}));
  return files.commit();
}

/// The text as a part of a file's name on any system.
std::string safe(std::string_view text) {
  constexpr std::size_t kMost = 120;
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  std::string name(text.substr(0, kMost));
  for (char& c : name) {
    if (kAllowed.find(c) == kAllowed.npos) c = '_';
  }
  // Neither hidden, nor an option of a command.
  if (name.empty() || name[0] == '.' || name[0] == '-') name.insert(0, 1, '_');
  return name;
}

/// Some file systems do not tell "A" from "a".
std::string lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

std::string ending(const std::string& stage) {
  if (stage == "llvm") return "ll";
  if (stage == "asm") return "s";
  if (stage == "cuda") return "cu";
  return safe(stage);
}

}  // namespace

Result<ResultsFolder> ResultsFolder::create(const std::string& path) {
  namespace fs = std::filesystem;
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  std::error_code error;
  if (fs::exists(fs::symlink_status(folder, error))) return exists(path);
  if (const fs::path parent = fs::path(folder).parent_path(); !parent.empty()) {
    fs::create_directories(parent, error);
    if (error) return not_made(path, error.message().c_str());
  }
  if (::mkdir(folder.c_str(), 0777) != 0) {
    const int why = errno;
    if (why == EEXIST) return exists(path);  // somebody was faster
    return not_made(path, std::strerror(why));
  }
  return ResultsFolder(std::move(folder));
}

Status ResultsFolder::write(const Results& results) { return write_file(path_ + "/results.json", to_json(results)); }

std::string ResultsFolder::source_name(const std::string& id, const std::string& stage) {
  std::string& stem = stems_[id];
  // A stage that comes again belongs to a kernel that was made again: it and the stages after it get a stem of their own.
  while (stem.empty() || !taken_.insert(lower(stem) + '.' + lower(ending(stage))).second) {
    const std::string first = safe(id);
    stem = first;
    for (int i = 2; !taken_.insert(lower(stem)).second; ++i) stem = fmt::format("{}-{}", first, i);
  }
  return stem + '.' + ending(stage);
}

Result<SourceRecord> ResultsFolder::keep_source(const std::string& id, const std::string& stage, std::string_view text,
                                                bool keep) {
  SourceRecord record{stage, sha256_hex(text.data(), text.size()), ""};
  if (!keep) return record;
  const std::string folder = path_ + "/sources";
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) return not_made(folder, std::strerror(errno));
  record.file = "sources/" + source_name(id, stage);
  LANEFOLD_CHECK(write_file(path_ + '/' + record.file, text));
  return record;
}

}  // namespace lanefold::bench
