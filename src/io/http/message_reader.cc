#include "io/http/message_reader.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <functional>
#include <limits>
#include <utility>

#include "base/strings.h"

namespace tiphys::http {
namespace {

namespace beast = boost::beast;
using BeastError = beast::http::error;
using boost::system::error_code;

// The end of a chunked message, without which Beast's parser must not be called: it asserts that this much is there.
constexpr std::size_t kShortestEnd = 5;

// Beast's parser, which keeps what it finds in our words.
template <bool IsRequest>
class Parser final : public beast::http::basic_parser<IsRequest> {
 public:
  std::string method;
  std::string target;
  int status = 0;
  int version = 0;
  Headers headers;
  std::string body;
  std::string_view input;  // what put() is being given

 private:
  void on_request_impl(beast::http::verb /*verb*/, beast::string_view name,
                       beast::string_view where, int number, error_code& /*error*/) override {
    method.assign(name.data(), name.size());
    target.assign(where.data(), where.size());
    version = number;
  }
  void on_response_impl(int code, beast::string_view /*reason*/, int number,
                        error_code& /*error*/) override {
    status = code;
    version = number;
  }
  void on_field_impl(beast::http::field /*field*/, beast::string_view name,
                     beast::string_view value, error_code& error) override {
    // Not everybody reads values alike that go over several lines.
    if (is_folded(name, value)) error = BeastError::bad_obs_fold;
    // Trailers are dropped: nobody may add to a head that was acted upon.
    if (!is_head_done_) headers.add({name.data(), name.size()}, {value.data(), value.size()});
  }
  void on_header_impl(error_code& /*error*/) override { is_head_done_ = true; }
  // The memory is taken as the body comes, not as it is announced.
  void on_body_init_impl(const boost::optional<std::uint64_t>& /*length*/,
                         error_code& /*error*/) override {}
  std::size_t on_body_impl(beast::string_view text, error_code& /*error*/) override {
    body.append(text.data(), text.size());
    return text.size();
  }
  void on_chunk_header_impl(std::uint64_t /*size*/, beast::string_view /*extensions*/,
                            error_code& /*error*/) override {}
  std::size_t on_chunk_body_impl(std::uint64_t /*remain*/, beast::string_view text,
                                 error_code& /*error*/) override {
    body.append(text.data(), text.size());
    return text.size();
  }
  void on_finish_impl(error_code& /*error*/) override {}

  // The value is a part of the input, in the line of its name; one that was put together lies elsewhere.
  [[nodiscard]] bool is_folded(beast::string_view name, beast::string_view value) const {
    if (value.empty()) return false;
    const std::less<> is_before;
    if (is_before(value.data(), input.data()) ||
        !is_before(value.data(), input.data() + input.size()))
      return true;
    const char* const end_of_name = name.data() + name.size();
    return std::find(end_of_name, value.data(), '\r') != value.data();
  }

  bool is_head_done_ = false;
};

tl::unexpected<Refusal> refuse(int status, std::string message) {
  return tl::unexpected<Refusal>(Refusal{status, std::move(message)});
}

// What both kinds of message have in common.
template <bool IsRequest>
class Reading {
 public:
  explicit Reading(std::size_t max_head_bytes) : max_head_bytes_(max_head_bytes) {
    parser.body_limit(boost::none);
    parser.header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(max_head_bytes, std::numeric_limits<std::uint32_t>::max())));
  }

  tl::expected<Progress, Refusal> read(std::string& bytes) {
    if (!parser.got_some()) {
      skip_empty_lines(bytes);
      if (bytes == "\r") return Progress::kNeedsMore;
    }
    while (!parser.is_done()) {
      const bool in_head = !parser.is_header_done();
      if (bytes.empty() || (!in_head && parser.chunked() && bytes.size() < kShortestEnd))
        return Progress::kNeedsMore;
      error_code error;
      parser.input = bytes;
      const std::size_t taken =
          parser.put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
      bytes.erase(0, taken);
      if (in_head) head_bytes_ += taken;
      if (error == BeastError::header_limit) return tl::unexpected(head_too_long(bytes));
      if (error && error != BeastError::need_more) return tl::unexpected(to_refusal(error));
      if (in_head && head_bytes_ + (parser.is_header_done() ? 0 : bytes.size()) > max_head_bytes_)
        return tl::unexpected(head_too_long(bytes));
      if (!in_head && error && bytes.size() > max_head_bytes_)
        return refuse(400, "the head of a chunk is too long");
      if (in_head && parser.is_header_done()) return Progress::kHead;
      if (error) return Progress::kNeedsMore;
    }
    return Progress::kDone;
  }

  static Refusal to_refusal(const error_code& error) {
    if (error == BeastError::body_limit) return {413, "the body is longer than is accepted here"};
    if (error == BeastError::bad_version)
      return {505, "the version of HTTP is neither 1.0 nor 1.1"};
    if (error == BeastError::partial_message)
      return {400, "the connection ended in the middle of a message"};
    return {400, concat("the message is malformed: ", error.message())};
  }

  Parser<IsRequest> parser;

 private:
  static void skip_empty_lines(std::string& bytes) {
    std::size_t end = 0;
    while (bytes.compare(end, 2, "\r\n") == 0) end += 2;
    bytes.erase(0, end);
  }

  [[nodiscard]] Refusal head_too_long(const std::string& bytes) const {
    const std::string limit = std::to_string(max_head_bytes_);
    const bool has_first_line = parser.version != 0 || bytes.find("\r\n") != std::string::npos;
    if (IsRequest && !has_first_line)
      return {414, concat("the request line is longer than ", limit, " bytes")};
    return {431, concat("the header is longer than ", limit, " bytes")};
  }

  std::size_t max_head_bytes_;
  std::size_t head_bytes_ = 0;
};

bool is_number(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char digit) { return digit >= '0' && digit <= '9'; });
}

// Beyond what Beast checks: nothing that another server in front of us might read differently.
std::optional<Refusal> check_framing(const RequestHead& head) {
  if (head.is_1_1 && head.headers.count("Host") != 1)
    return Refusal{400, "the request has no header field Host, or more than one"};
  const std::size_t lengths = head.headers.count("Content-Length");
  const std::size_t encodings = head.headers.count("Transfer-Encoding");
  if (lengths > 0 && encodings > 0)
    return Refusal{400, "Content-Length and Transfer-Encoding exclude each other"};
  if (lengths > 1 || (lengths == 1 && !is_number(*head.headers.find("Content-Length"))))
    return Refusal{400, "Content-Length is not one number"};
  if (encodings == 0) return std::nullopt;
  if (!head.is_1_1) return Refusal{400, "HTTP/1.0 knows no Transfer-Encoding"};
  if (encodings > 1 || !same_word(*head.headers.find("Transfer-Encoding"), "chunked"))
    return Refusal{501, "Transfer-Encoding: only 'chunked' is known"};
  return std::nullopt;
}

}  // namespace

// --- requests ---

struct RequestReader::Impl {
  Reading<true> reading;
  RequestHead head{};
  std::size_t max_body = std::numeric_limits<std::size_t>::max();
};

RequestReader::RequestReader(std::size_t max_head_bytes)
    : impl_(new Impl{.reading = Reading<true>(max_head_bytes)}) {}
RequestReader::~RequestReader() = default;
RequestReader::RequestReader(RequestReader&&) noexcept = default;
RequestReader& RequestReader::operator=(RequestReader&&) noexcept = default;

tl::expected<Progress, Refusal> RequestReader::read(std::string& bytes) {
  // Beast compares an announced length with the limit only while it reads the head, which is before the limit is known.
  if (impl_->head.content_length && *impl_->head.content_length > impl_->max_body)
    return tl::unexpected(Reading<true>::to_refusal(BeastError::body_limit));
  auto progress = impl_->reading.read(bytes);
  if (!progress || *progress != Progress::kHead) return progress;
  auto& parser = impl_->reading.parser;
  impl_->head = {.method = parser.method,
                 .target = parser.target,
                 .is_1_1 = parser.version == 11,
                 .headers = std::move(parser.headers),
                 .is_chunked = parser.chunked()};
  if (const auto length = parser.content_length()) impl_->head.content_length = *length;
  if (auto refusal = check_framing(impl_->head)) return tl::unexpected(*std::move(refusal));
  return Progress::kHead;
}

const RequestHead& RequestReader::head() const { return impl_->head; }
void RequestReader::limit_body(std::size_t bytes) {
  impl_->max_body = bytes;
  impl_->reading.parser.body_limit(bytes);
}
std::string& RequestReader::body() { return impl_->reading.parser.body; }

// --- responses ---

struct ResponseReader::Impl {
  Reading<false> reading;
  ResponseHead head{};
};

ResponseReader::ResponseReader(std::size_t max_head_bytes, bool to_head_request)
    : impl_(new Impl{.reading = Reading<false>(max_head_bytes)}) {
  impl_->reading.parser.skip(to_head_request);
}
ResponseReader::~ResponseReader() = default;
ResponseReader::ResponseReader(ResponseReader&&) noexcept = default;
ResponseReader& ResponseReader::operator=(ResponseReader&&) noexcept = default;

tl::expected<Progress, Refusal> ResponseReader::read(std::string& bytes) {
  auto progress = impl_->reading.read(bytes);
  if (!progress || *progress != Progress::kHead) return progress;
  auto& parser = impl_->reading.parser;
  impl_->head = {.status = parser.status,
                 .is_1_1 = parser.version == 11,
                 .headers = std::move(parser.headers)};
  return Progress::kHead;
}

tl::expected<Progress, Refusal> ResponseReader::end() {
  auto& parser = impl_->reading.parser;
  error_code error = BeastError::partial_message;
  if (parser.got_some()) parser.put_eof(error);
  if (error) return tl::unexpected(Reading<false>::to_refusal(error));
  return Progress::kDone;
}

const ResponseHead& ResponseReader::head() const { return impl_->head; }
std::string ResponseReader::take_body() { return std::exchange(impl_->reading.parser.body, {}); }

}  // namespace tiphys::http
