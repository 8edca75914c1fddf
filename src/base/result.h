#pragma once

// Expected failures as values. A Result carries either a value or an Error: a code and one sentence
// that names the place and the offence. The codes are gRPC's canonical numbers, so that io/rpc
// converts by a cast.

#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>

namespace tiphys {

enum class Code : std::uint8_t {
  kCancelled = 1,
  kUnknown = 2,
  kInvalidArgument = 3,
  kDeadlineExceeded = 4,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kOutOfRange = 11,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14,
  kDataLoss = 15,
  kUnauthenticated = 16,
};

std::string_view to_string(Code code);

struct Error {
  Code code;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

[[nodiscard]] inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

[[nodiscard]] inline tl::unexpected<Error> fail(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace tiphys

#define TIPHYS_CONCAT_(a, b) a##b
#define TIPHYS_CONCAT(a, b) TIPHYS_CONCAT_(a, b)

// TIPHYS_TRY(WorkloadName name, parse_workload_name(text)): declares `name`, or returns the error.
#define TIPHYS_TRY(declaration, expression) \
  TIPHYS_TRY_(TIPHYS_CONCAT(tiphys_result_, __LINE__), declaration, expression)
#define TIPHYS_TRY_(result, declaration, expression)             \
  auto result = (expression);                                    \
  if (!result) return ::tiphys::fail(std::move(result).error()); \
  declaration = std::move(*result)

// TIPHYS_REQUIRE(check_api_version(text)): goes on, or returns the error of a Status.
#define TIPHYS_REQUIRE(expression)                       \
  if (auto tiphys_status = (expression); !tiphys_status) \
  return ::tiphys::fail(std::move(tiphys_status).error())
