// The protocol of README.md for peers in C++: requests come as lines of JSON, and each gets one line back.
#pragma once

#include <unistd.h>

#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

/// Why a peer does not have a case.
struct Declined : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Answers until the input ends or asks to quit; gives the exit status. The peer has greeting(), prepare(case), which returns the offer
/// or throws Declined, forget(), is_ready(), run(calls), which returns nanoseconds, and write_outputs(files).
template <class Peer>
int answer_requests(const char* name, Peer& peer) {
  using Json = nlohmann::json;
  // What a framework prints goes to standard error: the answers go to a copy of standard output.
  std::FILE* answers = fdopen(dup(STDOUT_FILENO), "w");
  dup2(STDERR_FILENO, STDOUT_FILENO);
  if (answers == nullptr) return 1;
  for (std::string line; std::getline(std::cin, line);) try {
      const Json request = Json::parse(line);
      Json answer;
      if (request.contains("protocol")) {
        answer = peer.greeting();
      } else if (request.contains("prepare")) {
        peer.forget();
        try {
          answer = peer.prepare(request["prepare"]);
          answer["ready"] = true;
        } catch (const Declined& reason) {
          answer = {{"declined", reason.what()}};
        }
      } else if (request.contains("quit")) {
        return 0;
      } else if (!peer.is_ready()) {
        throw std::runtime_error("asked for a run without a case");
      } else if (request.contains("run")) {
        answer = {{"ns", peer.run(request["run"])}};
      } else {
        peer.write_outputs(request.at("outputs"));
        answer = {{"written", true}};
      }
      std::fprintf(answers, "%s\n", answer.dump().c_str());
      std::fflush(answers);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s: %s\n", name, error.what());
      return 1;
    }
  return 0;
}
