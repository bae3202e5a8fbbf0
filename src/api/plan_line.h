// A plan in one line.
#pragma once

#include <string>

#include "plan/plan.h"

namespace lanefold::api {

std::string plan_line(const plan::Plan& plan);

}  // namespace lanefold::api
