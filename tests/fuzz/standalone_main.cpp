// Runs one fuzz target without libFuzzer: the kept crashers, the corpus, then seeded mutations of the corpus (of random
// bytes where there is none).
// When an input brings the target down, or keeps it longer than ten seconds, the input is left in crash-TARGET-SEED-RUN.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
using Random = std::mt19937_64;

constexpr std::size_t kLargest = 4096;  // bytes of a mutated input
constexpr unsigned kSecondsPerInput = 10;

// What the signal handler writes; set before each run.
const std::uint8_t* current_data = nullptr;
std::size_t current_size = 0;
char current_file[256] = "";

extern "C" void keep_input(int signal) {
  const int file = open(current_file, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  bool kept = file >= 0;
  for (std::size_t done = 0; kept && done < current_size;) {
    const ssize_t written = write(file, current_data + done, current_size - done);
    kept = written > 0;
    if (kept) done += static_cast<std::size_t>(written);
  }
  const char* const message[] = {kept ? "the input is kept in " : "the input could not be kept in ", current_file,
                                 "\n"};
  for (const char* part : message) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void run(const Bytes& input, const std::string& file) {
  // An exact-size copy on the heap lets a sanitizer see a read past the end.
  const Bytes copy(input.begin(), input.end());
  current_data = copy.data();
  current_size = copy.size();
  std::snprintf(current_file, sizeof current_file, "%s", file.c_str());
  alarm(kSecondsPerInput);
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  alarm(0);
}

std::vector<std::pair<std::string, Bytes>> read_folder(const std::string& folder) {
  std::vector<std::pair<std::string, Bytes>> files;
  if (folder.empty() || !std::filesystem::is_directory(folder)) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream stream(entry.path(), std::ios::binary);
    files.emplace_back(entry.path().filename().string(),
                       Bytes(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()));
  }
  std::sort(files.begin(), files.end());  // the order of a directory is not the same everywhere
  return files;
}

// A number below `bound`, the same on every standard library.
std::size_t below(Random& random, std::size_t bound) { return bound == 0 ? 0 : random() % bound; }

void mutate(Bytes& bytes, const std::vector<Bytes>& seeds, Random& random) {
  static constexpr std::string_view kTokens[] = {
      "0", "-1", "1",  "4294967296", "9223372036854775807", "1e309", "nan", "", "(", ")", ",", "[",
      "]", "\n", "  ", "\""};
  const std::size_t at = below(random, bytes.size() + 1);
  const auto position = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  const auto rest = bytes.size() - at;
  switch (below(random, 8)) {
    case 0:
      if (rest > 0) bytes[at] ^= static_cast<std::uint8_t>(1u << below(random, 8));
      break;
    case 1:
      if (rest > 0) bytes[at] = static_cast<std::uint8_t>(random());
      break;
    case 2: bytes.insert(position, static_cast<std::uint8_t>(random())); break;
    case 3:
      bytes.erase(position, position + static_cast<std::ptrdiff_t>(below(random, std::min<std::size_t>(rest, 16) + 1)));
      break;
    case 4: bytes.resize(at); break;
    case 5: {  // one token in place of a few bytes
      const std::string_view token = kTokens[below(random, std::size(kTokens))];
      const auto next = bytes.erase(
          position, position + static_cast<std::ptrdiff_t>(below(random, std::min<std::size_t>(rest, 4) + 1)));
      bytes.insert(next, token.begin(), token.end());
      break;
    }
    case 6: {  // a piece of itself again
      const Bytes piece(position,
                        position + static_cast<std::ptrdiff_t>(std::min<std::size_t>(rest, 1 + below(random, 32))));
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(below(random, bytes.size() + 1)), piece.begin(),
                   piece.end());
      break;
    }
    default: {  // its head, another seed's tail
      const Bytes& other = seeds[below(random, seeds.size())];
      const std::size_t from = below(random, other.size() + 1);
      bytes.resize(at);
      bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
    }
  }
  if (bytes.size() > kLargest) bytes.resize(kLargest);
}

Bytes random_bytes(Random& random) {
  Bytes bytes(8);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

struct Options {
  std::string crashers;
  std::string corpus;
  std::uint64_t runs = 1000;
  std::uint64_t seed = 1;
};

bool read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) return false;
    if (name == "--crashers") {
      options.crashers = argv[i + 1];
    } else if (name == "--corpus") {
      options.corpus = argv[i + 1];
    } else if (name == "--runs" || name == "--seed") {
      char* end = nullptr;
      const std::uint64_t value = std::strtoull(argv[i + 1], &end, 10);
      if (end == argv[i + 1] || *end != '\0') return false;
      (name == "--runs" ? options.runs : options.seed) = value;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (!read_options(argc, argv, options)) {
    std::fprintf(stderr, "usage: %s [--crashers DIR] [--corpus DIR] [--runs N] [--seed S]\n", argv[0]);
    return 2;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM}) ::signal(signal, keep_input);
  const std::string prefix = "crash-" + std::filesystem::path(argv[0]).filename().string() + "-";

  const auto crashers = read_folder(options.crashers);
  const auto corpus = read_folder(options.corpus);
  for (const auto& [name, bytes] : crashers) run(bytes, prefix + name);
  std::vector<Bytes> seeds;
  for (const auto& [name, bytes] : corpus) {
    run(bytes, prefix + name);
    seeds.push_back(bytes);
  }
  const bool no_corpus = seeds.empty();
  if (no_corpus) seeds.emplace_back();

  std::printf("%zu crashers, %zu corpus files, %llu mutations with seed %llu\n", crashers.size(), corpus.size(),
              static_cast<unsigned long long>(options.runs), static_cast<unsigned long long>(options.seed));
  std::fflush(stdout);
  Random random(options.seed);
  for (std::uint64_t i = 0; i < options.runs; ++i) {
    // Mutations of nothing would mostly be nothing again.
    if (no_corpus) seeds[0] = random_bytes(random);
    Bytes input = seeds[below(random, seeds.size())];
    for (std::size_t steps = 1 + below(random, 6); steps > 0; --steps) mutate(input, seeds, random);
    run(input, prefix + std::to_string(options.seed) + "-" + std::to_string(i));
  }
  return 0;
}
