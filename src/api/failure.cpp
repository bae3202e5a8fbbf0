#include "api/failure.h"

#include "lanefold/lanefold.h"

namespace lanefold {

Error::Error(const std::string& text, std::string code, std::string name, std::string hint, std::string place)
    : std::runtime_error(text),
      details_(std::make_shared<const Details>(
          Details{std::move(code), std::move(name), std::move(hint), std::move(place)})) {}

namespace api {

void fail(const Diagnostic& diagnostic) {
  throw Error(diagnostic.text(), std::string(code_number(diagnostic.code)), std::string(code_name(diagnostic.code)),
              diagnostic.hint, diagnostic.place);
}

}  // namespace api
}  // namespace lanefold
