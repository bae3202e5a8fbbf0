// The names of argument roles in the text form.
#pragma once

#include <optional>
#include <string_view>

#include "lane/module.h"

namespace lanefold::lane {

std::string_view role_name(Role role);
std::optional<Role> role_from_name(std::string_view name);

}  // namespace lanefold::lane
