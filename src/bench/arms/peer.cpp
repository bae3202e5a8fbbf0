#include "bench/arms/peer.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <nlohmann/json.hpp>

#include "bench/arms/child_process.h"

namespace lanefold::bench {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr int kProtocol = 1;

std::size_t byte_count(const PeerCase::Buffer& buffer) {
  std::size_t count = element_bytes(buffer.type);
  for (const std::int64_t extent : buffer.shape) count *= static_cast<std::size_t>(extent);
  return count;
}

Diagnostic not_written(const fs::path& path, const std::string& why) {
  return {Code::write_failed, fmt::format("a file for the peer cannot be written: {}", why),
          "TMPDIR names the folder for temporary files; inputs and outputs of a case have to fit there", path.string()};
}

/// A folder that only this user may enter, removed with what is in it.
class TemporaryFolder {
 public:
  static Result<std::unique_ptr<TemporaryFolder>> make() {
    std::error_code error;
    const fs::path parent = fs::temp_directory_path(error);
    if (error) return not_written(parent, error.message());
    std::string pattern = parent / "lanefold-peer-XXXXXX";
    if (::mkdtemp(pattern.data()) == nullptr) return not_written(pattern, std::generic_category().message(errno));
    return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(pattern));
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// Numbered, since a buffer's name need not be one of a file.
  std::string file(std::size_t number) const { return path_ / fmt::format("{}.bin", number); }

 private:
  explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

Status write_input(const std::string& path, const PeerCase::Buffer& buffer) {
  if (buffer.view.data == nullptr || buffer.view.type != buffer.type)
    internal_error(fmt::format("peer: the input {} has no contents of its type", buffer.name));
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(buffer.view.data), static_cast<std::streamsize>(byte_count(buffer)));
  file.close();
  if (!file) return not_written(path, std::generic_category().message(errno));
  return success();
}

Json described(const PeerCase::Buffer& buffer) {
  return {{"name", buffer.name}, {"type", element_name(buffer.type)}, {"shape", buffer.shape}};
}

}  // namespace

struct Peer::Process {
  std::string command;
  PeerLimits limits;
  std::unique_ptr<ChildProcess> child;
  std::vector<PeerCase::Buffer> outputs;  ///< of the case
  bool ready = false;                     ///< it has a case
  std::optional<Diagnostic> failure;      ///< the first one

  Diagnostic fail(Diagnostic why) {
    why.place = command;
    child->kill();
    ready = false;
    return failure.emplace(std::move(why));
  }
  Diagnostic misspoke(std::string_view asked, const Json& answer, const std::string& why) {
    return fail({Code::peer_protocol, fmt::format("answers {} with {}: {}", asked, printable(answer.dump(), 300), why),
                 "bench/peers/README.md describes the protocol", ""});
  }

  /// The object that answers a request of one member, "run" of {"run": 7}.
  Result<Json> ask(std::string_view what, const Json& with, std::chrono::milliseconds limit) {
    if (failure) return *failure;
    Json request;
    request[std::string(what)] = with;
    Result<std::string> line = child->exchange(request.dump(), limit);
    if (!line) {
      Diagnostic why = line.error();
      why.message = fmt::format("asked for \"{}\", it {}", what, why.message);
      return fail(std::move(why));
    }
    Json answer = Json::parse(*line, nullptr, /*allow_exceptions=*/false);
    if (answer.is_object()) return answer;
    return fail({Code::peer_protocol,
                 fmt::format("answers \"{}\" with what is no JSON object: {}", what, printable(*line, 300)),
                 "only answers may be written to its standard output; everything else belongs to standard error", ""});
  }

  /// A text of the answer that may not be empty.
  Result<std::string> text(std::string_view asked, const Json& answer, const char* name) {
    const auto found = answer.find(name);
    if (found != answer.end() && found->is_string() && !found->get_ref<const std::string&>().empty())
      return found->get<std::string>();
    return misspoke(asked, answer, fmt::format("there is no text \"{}\"", name));
  }
  /// A member that is true.
  Status yes(std::string_view asked, const Json& answer, const char* name) {
    if (const auto found = answer.find(name); found != answer.end() && *found == true) return success();
    return misspoke(asked, answer, fmt::format("\"{}\" is not true", name));
  }
  /// A tolerance that the peer claims for its outputs.
  Result<ClaimedTolerance> claim(const Json& answer, const Json& claimed) {
    ClaimedTolerance tolerance;
    for (const auto& [name, value] :
         {std::pair("absolute", &tolerance.absolute), std::pair("relative", &tolerance.relative)}) {
      const auto found = claimed.is_object() ? claimed.find(name) : claimed.end();
      *value = found != claimed.end() && found->is_number() ? found->get<double>() : -1;
      if (!std::isfinite(*value) || *value < 0)
        return misspoke("prepare", answer, fmt::format("the tolerance has no \"{}\" from 0", name));
    }
    LANEFOLD_TRY(tolerance.why, text("prepare", claimed, "why"));
    return tolerance;
  }
  /// A time in ns, more than none.
  Result<double> time(const Json& answer, const char* name) {
    if (const auto found = answer.find(name); found != answer.end() && found->is_number())
      if (const double ns = found->get<double>(); std::isfinite(ns) && ns > 0) return ns;
    return misspoke("run", answer, fmt::format("there is no time \"{}\" above 0", name));
  }
};

Peer::Peer(std::unique_ptr<Process> process) : process_(std::move(process)) {}

Peer::~Peer() {
  if (!process_->failure) process_->child->send_last(R"({"quit": true})");
}

Result<std::unique_ptr<Peer>> Peer::start(const std::string& command, const PeerLimits& limits) {
  LANEFOLD_TRY(const std::vector<std::string> words, split_command(command));
  auto process = std::make_unique<Process>();
  process->command = command;
  process->limits = limits;
  LANEFOLD_TRY(process->child, ChildProcess::start(words));
  LANEFOLD_TRY(const Json greeting, process->ask("protocol", kProtocol, limits.greeting));
  if (const auto version = greeting.find("protocol"); version == greeting.end() || *version != kProtocol)
    return process->misspoke("protocol", greeting, fmt::format("it does not speak protocol {}", kProtocol));
  LANEFOLD_TRY(std::string name, process->text("protocol", greeting, "name"));
  LANEFOLD_TRY(std::string version, process->text("protocol", greeting, "version"));
  std::unique_ptr<Peer> peer(new Peer(std::move(process)));
  peer->name_ = std::move(name);
  peer->version_ = std::move(version);
  return peer;
}

Result<PeerOffer> Peer::prepare(const PeerCase& what) {
  process_->ready = false;
  process_->outputs = what.outputs;
  for (PeerCase::Buffer& output : process_->outputs) output.view = {};  // the caller's memory is not ours to keep
  if (process_->failure) return *process_->failure;

  LANEFOLD_TRY(const auto folder, TemporaryFolder::make());
  Json inputs = Json::array(), outputs = Json::array();
  for (const PeerCase::Buffer& input : what.inputs) {
    const std::string path = folder->file(inputs.size());
    LANEFOLD_CHECK(write_input(path, input));
    inputs.push_back(described(input));
    inputs.back()["file"] = path;
  }
  for (const PeerCase::Buffer& output : what.outputs) outputs.push_back(described(output));
  const Json request{{"op", what.op},       {"rows", what.rows},       {"cols", what.cols},
                     {"dtype", what.dtype}, {"threads", what.threads}, {"parameters", Json(what.parameters)},
                     {"inputs", inputs},    {"outputs", outputs}};
  LANEFOLD_TRY(const Json answer, process_->ask("prepare", request, process_->limits.answer));

  PeerOffer offer;
  if (answer.contains("declined")) {
    LANEFOLD_TRY(offer.declined, process_->text("prepare", answer, "declined"));
    return offer;
  }
  LANEFOLD_CHECK(process_->yes("prepare", answer, "ready"));
  LANEFOLD_TRY(offer.call, process_->text("prepare", answer, "call"));
  LANEFOLD_TRY(offer.output_policy, process_->text("prepare", answer, "output_policy"));
  if (offer.output_policy != "preallocated" && offer.output_policy != "allocated per call")
    return process_->misspoke("prepare", answer, "the policy is neither \"preallocated\" nor \"allocated per call\"");
  if (const auto claimed = answer.find("tolerance"); claimed != answer.end()) {
    LANEFOLD_TRY(offer.tolerance, process_->claim(answer, *claimed));
  }
  process_->ready = true;
  return offer;
}

Result<Timing> Peer::run(std::uint64_t calls) {
  if (process_->failure) return *process_->failure;
  if (!process_->ready) internal_error("peer: run() without a case that it is ready for");
  LANEFOLD_TRY(const Json answer, process_->ask("run", calls, process_->limits.answer));
  Timing timing;
  LANEFOLD_TRY(timing.wall_ns, process_->time(answer, "ns"));
  if (answer.contains("device_ns")) {
    LANEFOLD_TRY(timing.device_ns, process_->time(answer, "device_ns"));
  }
  return timing;
}

Result<std::vector<std::vector<std::byte>>> Peer::outputs() {
  if (process_->failure) return *process_->failure;
  if (!process_->ready) internal_error("peer: outputs() without a case that it is ready for");
  LANEFOLD_TRY(const auto folder, TemporaryFolder::make());
  Json paths = Json::array();
  for (std::size_t i = 0; i < process_->outputs.size(); ++i) paths.push_back(folder->file(i));
  LANEFOLD_TRY(const Json answer, process_->ask("outputs", paths, process_->limits.answer));
  LANEFOLD_CHECK(process_->yes("outputs", answer, "written"));

  std::vector<std::vector<std::byte>> all;
  for (std::size_t i = 0; i < process_->outputs.size(); ++i) {
    const std::size_t wanted = byte_count(process_->outputs[i]);
    std::error_code error;
    const std::uintmax_t size = fs::file_size(folder->file(i), error);
    if (error || size != wanted)
      return process_->misspoke("outputs", answer,
                                fmt::format("the file of {} has {}, not {} bytes", process_->outputs[i].name,
                                            error ? error.message() : fmt::format("{} bytes", size), wanted));
    std::vector<std::byte>& bytes = all.emplace_back(wanted);
    std::ifstream file(folder->file(i), std::ios::binary);
    if (!file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(wanted)))
      return process_->misspoke("outputs", answer,
                                fmt::format("the file of {} cannot be read", process_->outputs[i].name));
  }
  return all;
}

}  // namespace lanefold::bench
