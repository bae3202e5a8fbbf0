#include "base/sha256.h"

#include <openssl/evp.h>

#include "base/diagnostic.h"

namespace lanefold {
namespace {

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

void require(bool done, const char* what) {
  if (!done) internal_error(std::string("SHA-256: ") + what + " failed in libcrypto");
}

Context new_context() {
  Context context(EVP_MD_CTX_new());
  require(context != nullptr, "EVP_MD_CTX_new");
  return context;
}

}  // namespace

struct Sha256::State {
  Context context = new_context();
};

Sha256::Sha256() : state_(std::make_unique<State>()) {
  require(EVP_DigestInit_ex(state_->context.get(), EVP_sha256(), nullptr) == 1, "EVP_DigestInit_ex");
}
Sha256::~Sha256() = default;
Sha256::Sha256(Sha256&&) noexcept = default;
Sha256& Sha256::operator=(Sha256&&) noexcept = default;

void Sha256::update(const void* data, std::size_t size) {
  require(EVP_DigestUpdate(state_->context.get(), data, size) == 1, "EVP_DigestUpdate");
}

std::string Sha256::hex_digest() const {
  // Finishing spends a context: finish a copy.
  const Context copy = new_context();
  require(EVP_MD_CTX_copy_ex(copy.get(), state_->context.get()) == 1, "EVP_MD_CTX_copy_ex");
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int length = 0;
  require(EVP_DigestFinal_ex(copy.get(), digest, &length) == 1, "EVP_DigestFinal_ex");
  std::string hex;
  for (unsigned int i = 0; i < length; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    hex += kDigits[digest[i] >> 4];
    hex += kDigits[digest[i] & 15];
  }
  return hex;
}

std::string sha256_hex(const void* data, std::size_t size) {
  Sha256 hash;
  hash.update(data, size);
  return hash.hex_digest();
}

}  // namespace lanefold
