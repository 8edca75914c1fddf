#include "io/rpc/status.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <tuple>
#include <vector>

namespace tiphys::rpc {
namespace {

constexpr std::size_t kLimit = std::size_t{16} * 1024;

TEST(PercentCoding, KeepsPrintableAsciiAndEncodesTheRest) {
  EXPECT_EQ(percent_encode("plain text, ~!"), "plain text, ~!");
  EXPECT_EQ(percent_encode("5 %\n\x7fä"), "5 %25%0A%7F%C3%A4");
  EXPECT_TRUE(rc::check(
      [](const std::string& text) { RC_ASSERT(percent_decode(percent_encode(text)) == text); }));
}

TEST(PercentCoding, LeavesWhatIsNoCode) {
  for (const auto& [text, expected] :
       std::vector<std::pair<std::string, std::string>>{{"%", "%"},
                                                        {"%4", "%4"},
                                                        {"%zz", "%zz"},
                                                        {"%4g", "%4g"},
                                                        {"%41%", "A%"},
                                                        {"%e4%E4", "\xe4\xe4"}})
    EXPECT_EQ(percent_decode(text), expected);
}

TEST(Trailers, CarryEveryOutcome) {
  for (int code = 0; code <= 16; ++code) {
    SCOPED_TRACE(code);
    Outcome outcome{.trailers = {{"why", "so"}}};
    if (code > 0) outcome.status = fail(static_cast<Code>(code), "größer als 5 %\n— ✓");
    const Outcome back = outcome_of_trailers(to_trailers(outcome, kLimit));
    ASSERT_EQ(back.status.has_value(), outcome.status.has_value());
    if (!outcome.status) {
      EXPECT_EQ(back.status.error(), outcome.status.error());
    }
    EXPECT_EQ(back.trailers, outcome.trailers);
  }
}

TEST(Trailers, AreUnknownWithoutAStatusWeKnow) {
  for (const char* status : {"17", "-1", "x", "", "1x", "99999999999"}) {
    SCOPED_TRACE(status);
    Fields trailers;
    trailers.add("grpc-status", status);
    const Outcome outcome = outcome_of_trailers(trailers);
    ASSERT_FALSE(outcome.status);
    EXPECT_EQ(outcome.status.error().code, Code::kUnknown);
  }
  EXPECT_EQ(outcome_of_trailers({}).status.error().code, Code::kUnknown);
}

TEST(Trailers, StayWithinThePeersLimit) {
  std::string text;
  for (int count = 0; count < 5000; ++count) text += "ä";
  for (const std::size_t limit : {64U, 100U, 500U, 16384U}) {
    SCOPED_TRACE(limit);
    const Fields trailers = to_trailers(failed(Code::kInternal, text), limit);
    EXPECT_LE(trailers.list_size(), limit);
    const Outcome back = outcome_of_trailers(trailers);
    EXPECT_EQ(back.status.error().code, Code::kInternal);
    EXPECT_TRUE(text.starts_with(back.status.error().message));
    EXPECT_EQ(back.status.error().message.size() % 2, 0U) << "cut inside a character";
  }
}

TEST(Trailers, GiveUpMetadataBeforeTheStatus) {
  const Outcome outcome{.status = fail(Code::kAborted, "short"),
                        .trailers = {{"large", std::string(1000, 'x')}}};
  const Outcome back = outcome_of_trailers(to_trailers(outcome, 500));
  EXPECT_EQ(back.status.error(), (Error{Code::kAborted, "short"}));
  EXPECT_TRUE(back.trailers.empty());
}

TEST(StreamEnds, HaveTheStatusOfTheTable) {
  using Kind = StreamEnd::Kind;
  for (const auto& [kind, reset, code] : std::vector<std::tuple<Kind, Reset, Code>>{
           {Kind::kReset, Reset::kRefused, Code::kUnavailable},
           {Kind::kReset, Reset::kCancel, Code::kCancelled},
           {Kind::kReset, Reset::kEnhanceYourCalm, Code::kResourceExhausted},
           {Kind::kReset, Reset::kInadequateSecurity, Code::kPermissionDenied},
           {Kind::kReset, Reset::kNoError, Code::kInternal},
           {Kind::kReset, Reset::kProtocolError, Code::kInternal},
           {Kind::kReset, Reset::kInternalError, Code::kInternal},
           {Kind::kReset, Reset::kOther, Code::kInternal},
           {Kind::kLost, Reset::kNoError, Code::kUnavailable},
           {Kind::kComplete, Reset::kNoError, Code::kUnknown}}) {
    const Error error = error_of_end({.kind = kind, .reset = reset});
    EXPECT_EQ(error.code, code);
    EXPECT_FALSE(error.message.empty());
    EXPECT_EQ(error_of_end({.kind = kind, .reset = reset, .detail = "why"}).message, "why");
  }
}

TEST(HttpStatuses, HaveTheStatusOfGrpcsTable) {
  for (const auto& [status, code] :
       std::vector<std::pair<std::string, Code>>{{"400", Code::kInternal},
                                                 {"401", Code::kUnauthenticated},
                                                 {"403", Code::kPermissionDenied},
                                                 {"404", Code::kUnimplemented},
                                                 {"429", Code::kUnavailable},
                                                 {"502", Code::kUnavailable},
                                                 {"503", Code::kUnavailable},
                                                 {"504", Code::kUnavailable},
                                                 {"500", Code::kUnknown},
                                                 {"302", Code::kUnknown},
                                                 {"", Code::kUnknown}})
    EXPECT_EQ(error_of_http_status(status).code, code) << status;
}

}  // namespace
}  // namespace tiphys::rpc
