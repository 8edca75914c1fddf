//! The cases.

use crate::echo::echo_client::EchoClient;
use crate::echo::{EchoReply, EchoRequest, Failure, Wait};
use crate::options::{Error, Options};
use crate::{MAX_MESSAGE, pattern};
use http::uri::PathAndQuery;
use std::fmt::Debug;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::time::Instant;
use tokio_stream::wrappers::UnboundedReceiverStream;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status, Streaming};

const SHORT_DEADLINE: Duration = Duration::from_millis(500);
const POLL_TIME: Duration = Duration::from_secs(20);
const POLL_PAUSE: Duration = Duration::from_millis(10);
const CASE_TIME: Duration = Duration::from_secs(60);
const LARGE: usize = 16 << 20;
const ERROR_TEXT: &str = "größer als 5 %\n— ✓";

/// What was expected and what was seen.
struct Mismatch(String);

impl From<Status> for Mismatch {
    fn from(status: Status) -> Self {
        Self(format!("expected success, saw {:?} '{}'", status.code(), status.message()))
    }
}

type Checked<T = ()> = Result<T, Mismatch>;

fn expect<T: PartialEq + Debug>(what: &str, wanted: T, seen: T) -> Checked {
    if wanted == seen {
        return Ok(());
    }
    let text = |value: &T| format!("{value:?}").chars().take(200).collect::<String>();
    Err(Mismatch(format!("{what}: expected {}, saw {}", text(&wanted), text(&seen))))
}

fn expect_reply(what: &str, payload: &[u8], index: u32, reply: &EchoReply) -> Checked {
    expect(&format!("{what}, index"), index, reply.index)?;
    if payload == reply.payload {
        return Ok(());
    }
    let (wanted, seen) = (payload.len(), reply.payload.len());
    Err(Mismatch(format!("{what}: expected a payload of {wanted} bytes, saw other {seen} bytes")))
}

fn expect_replies(what: &str, wanted: &[Vec<u8>], replies: &[EchoReply]) -> Checked {
    expect(&format!("{what}, number of replies"), wanted.len(), replies.len())?;
    for (index, (payload, reply)) in wanted.iter().zip(replies).enumerate() {
        expect_reply(&format!("{what}, reply {index}"), payload, index as u32, reply)?;
    }
    Ok(())
}

fn payload(bytes: impl Into<Vec<u8>>) -> EchoRequest {
    EchoRequest { payload: bytes.into(), ..Default::default() }
}

/// All replies up to a status, which is OK.
async fn rest(mut stream: Streaming<EchoReply>) -> Result<Vec<EchoReply>, Status> {
    let mut replies = Vec::new();
    while let Some(reply) = stream.message().await? {
        replies.push(reply);
    }
    Ok(replies)
}

fn three() -> [EchoRequest; 3] {
    ["0", "1", "2"].map(payload)
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Unary,
    Collect,
    Expand,
    Chat,
}

const KINDS: [(&str, Kind, &str); 4] = [
    ("unary", Kind::Unary, "/tiphys.peer.Echo/Unary"),
    ("collect", Kind::Collect, "/tiphys.peer.Echo/Collect"),
    ("expand", Kind::Expand, "/tiphys.peer.Echo/Expand"),
    ("chat", Kind::Chat, "/tiphys.peer.Echo/Chat"),
];
const WHATS: [&str; 6] = ["basic", "deadline", "cancel", "large", "metadata", "error"];

type Opening = Pin<Box<dyn Future<Output = Result<Response<Streaming<EchoReply>>, Status>> + Send>>;

struct Caller {
    channel: Channel,
    stub: EchoClient<Channel>,
}

impl Caller {
    fn new(channel: Channel) -> Self {
        let stub = EchoClient::new(channel.clone()).max_decoding_message_size(MAX_MESSAGE).max_encoding_message_size(MAX_MESSAGE);
        Self { channel, stub }
    }

    /// Starts a call of any kind, and gives initial and trailing metadata apart, which the generated stub of an unary call does
    /// not. What goes into the sender is sent; dropping it is the half-close.
    fn open(
        &self,
        kind: Kind,
        prepare: impl FnOnce(&mut Request<UnboundedReceiverStream<EchoRequest>>),
    ) -> (UnboundedSender<EchoRequest>, Opening) {
        let (sender, receiver) = unbounded_channel();
        let mut request = Request::new(UnboundedReceiverStream::new(receiver));
        prepare(&mut request);
        let mut grpc = tonic::client::Grpc::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE)
            .max_encoding_message_size(MAX_MESSAGE);
        let path = KINDS.iter().find(|row| row.1 == kind).expect("all kinds are in the table").2;
        let response = Box::pin(async move {
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let codec = tonic_prost::ProstCodec::<EchoRequest, EchoReply>::default();
            grpc.streaming(request, PathAndQuery::from_static(path), codec).await
        });
        (sender, response)
    }

    // --- basic ---

    async fn unary_basic(&mut self) -> Checked {
        let mut table = vec![
            (payload("hello"), b"hello".to_vec()),
            (EchoRequest::default(), vec![]),
            (EchoRequest { reply_size: 1000, ..Default::default() }, pattern(1000)),
        ];
        table.extend((0..100).map(|i| (payload(i.to_string()), i.to_string().into_bytes())));
        for (i, (request, wanted)) in table.into_iter().enumerate() {
            let reply = self.stub.unary(request).await?.into_inner();
            expect_reply(&format!("call {i}"), &wanted, 0, &reply)?;
        }
        Ok(())
    }

    async fn collect_basic(&mut self) -> Checked {
        let few = ["a", "", "b"].map(|text| text.as_bytes().to_vec()).to_vec();
        for sent in [vec![], few, vec![pattern(100); 1000]] {
            let requests: Vec<EchoRequest> = sent.iter().cloned().map(payload).collect();
            let reply = self.stub.collect(tokio_stream::iter(requests)).await?.into_inner();
            expect_reply(&format!("{} messages", sent.len()), &sent.concat(), sent.len() as u32, &reply)?;
        }
        Ok(())
    }

    async fn expand_basic(&mut self) -> Checked {
        for (request, wanted) in [
            (EchoRequest::default(), vec![]),
            (EchoRequest { count: 3, reply_size: 1000, ..Default::default() }, pattern(1000)),
            (EchoRequest { count: 1000, ..payload("x") }, b"x".to_vec()),
        ] {
            let count = request.count as usize;
            let replies = rest(self.stub.expand(request).await?.into_inner()).await?;
            expect_replies(&format!("count {count}"), &vec![wanted; count], &replies)?;
        }
        Ok(())
    }

    async fn chat_basic(&mut self) -> Checked {
        let silent = self.stub.chat(tokio_stream::empty()).await?.into_inner();
        expect_replies("half-close at once", &[], &rest(silent).await?)?;

        let (sender, polite) = self.open(Kind::Chat, |_| {});
        let mut polite = polite.await?.into_inner();
        for index in 0..100 {
            let text = if index == 99 { String::new() } else { index.to_string() };
            let _ = sender.send(payload(text.clone()));
            let reply =
                polite.message().await?.ok_or_else(|| Mismatch(format!("message {index}: expected a reply, saw the end")))?;
            expect_reply(&format!("message {index}"), text.as_bytes(), index, &reply)?;
        }
        drop(sender);
        expect_replies("after the half-close", &[], &rest(polite).await?)?;

        let wanted = vec![pattern(1000); 1000];
        let requests: Vec<EchoRequest> = wanted.iter().cloned().map(payload).collect();
        let hasty = self.stub.chat(tokio_stream::iter(requests)).await?.into_inner();
        expect_replies("messages without waiting", &wanted, &rest(hasty).await?)
    }

    // --- deadline, cancel ---

    /// Asks until a wait has come to a state.
    async fn poll(&self, name: &str, wanted: Wait) -> Checked {
        let limit = Instant::now() + POLL_TIME;
        let mut stub = self.stub.clone();
        loop {
            let ask = EchoRequest { ask: name.to_owned(), ..Default::default() };
            let seen = stub.unary(ask).await?.into_inner().wait();
            if seen == wanted {
                return Ok(());
            }
            if Instant::now() > limit {
                return expect("the server's view of the wait", wanted, seen);
            }
            tokio::time::sleep(POLL_PAUSE).await;
        }
    }

    /// A call that waits, with three messages before; answers with how it ended.
    async fn wait(&self, kind: Kind, name: &str, timeout: Option<Duration>) -> Status {
        let (sender, response) = self.open(kind, |request| {
            if let Some(timeout) = timeout {
                request.set_timeout(timeout);
            }
        });
        let wait = EchoRequest { wait: name.to_owned(), ..Default::default() };
        let talk = async {
            let mut before = 0;
            match kind {
                Kind::Unary => {
                    let _ = sender.send(wait.clone());
                }
                Kind::Expand => {
                    let _ = sender.send(EchoRequest { count: 3, ..wait.clone() });
                    before = 3;
                }
                Kind::Collect => {
                    three().into_iter().chain([wait.clone()]).for_each(|request| drop(sender.send(request)));
                }
                Kind::Chat => {
                    three().into_iter().for_each(|request| drop(sender.send(request)));
                    before = 3;
                }
            }
            let half_closed = matches!(kind, Kind::Unary | Kind::Expand);
            let sender = (!half_closed).then_some(sender);
            let mut replies = response.await?.into_inner();
            for _ in 0..before {
                replies.message().await?;
            }
            if let (Kind::Chat, Some(sender)) = (kind, &sender) {
                let _ = sender.send(wait.clone());
            }
            replies.message().await
        };
        match talk.await {
            Ok(None) => Status::ok("the call ended"),
            Ok(Some(_)) => Status::ok("there was a reply"),
            Err(status) => status,
        }
    }

    async fn deadline(&mut self, kind: Kind, name: &str) -> Checked {
        if kind == Kind::Unary {
            let without = self.stub.unary(EchoRequest::default()).await?.into_inner();
            expect("timeout_ms without a deadline", 0, without.timeout_ms)?;
            let mut request = Request::new(EchoRequest::default());
            request.set_timeout(Duration::from_secs(60));
            let with = self.stub.unary(request).await?.into_inner();
            expect("timeout_ms of 1 to 61000 with a deadline of 60 s", true, (1..=61_000).contains(&with.timeout_ms))?;
        }
        // tonic watches the deadline as far as the response headers; behind them it is up to its user. For its own deadline and for
        // a server's reset it says CANCELLED.
        let ended = tokio::time::timeout(SHORT_DEADLINE, self.wait(kind, name, Some(SHORT_DEADLINE)))
            .await
            .unwrap_or_else(|_| Status::deadline_exceeded("our own timer"));
        if ended.code() != Code::Cancelled {
            expect("after the deadline, status", Code::DeadlineExceeded, ended.code())?;
        }
        self.poll(name, Wait::Cancelled).await
    }

    async fn cancel(&mut self, kind: Kind, name: &str) -> Checked {
        // Dropping the call is how tonic cancels it.
        tokio::select! {
            ended = self.wait(kind, name, None) => {
                return Err(Mismatch(format!("expected a call that waits, saw its end: {:?} '{}'", ended.code(), ended.message())));
            }
            polled = self.poll(name, Wait::UnderWay) => polled?,
        }
        self.poll(name, Wait::Cancelled).await
    }

    // --- large ---

    async fn large(&mut self, kind: Kind) -> Checked {
        let big = pattern(LARGE);
        let (sender, response) = self.open(kind, |_| {});
        let _ = sender.send(EchoRequest { count: 2, ..payload(big.clone()) });
        if kind == Kind::Collect {
            let _ = sender.send(payload("x"));
        }
        let sender = (kind == Kind::Chat).then_some(sender);
        let mut replies = response.await?.into_inner();
        let first = replies.message().await?.ok_or_else(|| Mismatch("expected a reply, saw the end".to_owned()))?;
        match kind {
            Kind::Collect => expect_reply("reply", &[&big[..], b"x"].concat(), 2, &first)?,
            _ => expect_reply("reply", &big, 0, &first)?,
        }
        if let Some(sender) = sender {
            let _ = sender.send(payload(big.clone()));
        }
        if matches!(kind, Kind::Chat | Kind::Expand) {
            let second = replies.message().await?.ok_or_else(|| Mismatch("expected a second reply, saw the end".to_owned()))?;
            expect_reply("second reply", &big, 1, &second)?;
        }
        expect_replies("at the end", &[], &rest(replies).await?)
    }

    // --- metadata, error ---

    async fn metadata(&mut self, kind: Kind) -> Checked {
        let all: Vec<u8> = (0..=255).collect();
        let (sender, response) = self.open(kind, |request| {
            let metadata = request.metadata_mut();
            metadata.append("echo-text", MetadataValue::from_static("first"));
            metadata.append("echo-text", MetadataValue::from_static("second value"));
            metadata.append_bin("echo-data-bin", MetadataValue::from_bytes(&all));
            metadata.append_bin("echo-data-bin", MetadataValue::from_bytes(b"two"));
        });
        let request = EchoRequest { count: 1, ..payload("x") };
        let response = if kind == Kind::Chat {
            let response = response.await?;
            let _ = sender.send(request);
            drop(sender);
            response
        } else {
            let _ = sender.send(request);
            drop(sender);
            response.await?
        };
        let check = |place: &str, metadata: &MetadataMap| -> Checked {
            let texts: Vec<&str> = metadata.get_all("echo-text").iter().filter_map(|value| value.to_str().ok()).collect();
            expect(&format!("{place} echo-text"), vec!["first", "second value"], texts)?;
            let data: Vec<Vec<u8>> = metadata
                .get_all_bin("echo-data-bin")
                .iter()
                .map(|value| value.to_bytes().map(|bytes| bytes.to_vec()).unwrap_or_default())
                .collect();
            expect(&format!("{place} echo-data-bin"), vec![all.clone(), b"two".to_vec()], data)
        };
        check("initial", response.metadata())?;
        let mut replies = response.into_inner();
        let mut count = 0;
        while replies.message().await?.is_some() {
            count += 1;
        }
        expect("number of replies", 1, count)?;
        check("trailing", &replies.trailers().await?.unwrap_or_default())
    }

    async fn failure(&mut self, kind: Kind, code: Code) -> Checked {
        let (sender, response) = self.open(kind, |request| {
            request.metadata_mut().append("echo-text", MetadataValue::from_static("why"));
        });
        let fail = Some(Failure { code: code as u32, text: ERROR_TEXT.to_owned() });
        let wanted = if matches!(kind, Kind::Expand | Kind::Chat) { 3 } else { 0 };
        if matches!(kind, Kind::Collect | Kind::Chat) {
            three().into_iter().for_each(|request| drop(sender.send(request)));
        }
        let _ = sender.send(EchoRequest { fail, count: wanted, ..Default::default() });
        let sender = matches!(kind, Kind::Collect | Kind::Chat).then_some(sender);
        let mut received = 0;
        let talk = async {
            let mut replies = response.await?.into_inner();
            while replies.message().await?.is_some() {
                received += 1;
            }
            Ok(())
        };
        let status: Status = talk.await.err().unwrap_or_else(|| Status::ok(""));
        drop(sender);
        expect("number of replies", wanted, received)?;
        expect("status", code, status.code())?;
        expect("text", ERROR_TEXT, status.message())?;
        let why: Vec<&str> = status.metadata().get_all("echo-text").iter().filter_map(|value| value.to_str().ok()).collect();
        expect("trailing echo-text", vec!["why"], why)
    }

    async fn error(&mut self, kind: Kind) -> Checked {
        if kind != Kind::Unary {
            return self.failure(kind, Code::FailedPrecondition).await;
        }
        for code in 1..=16 {
            self.failure(kind, Code::from(code)).await.map_err(|Mismatch(text)| Mismatch(format!("code {code}: {text}")))?;
        }
        Ok(())
    }

    async fn run(&mut self, kind: Kind, what: &str, name: &str) -> Checked {
        match (what, kind) {
            ("basic", Kind::Unary) => self.unary_basic().await,
            ("basic", Kind::Collect) => self.collect_basic().await,
            ("basic", Kind::Expand) => self.expand_basic().await,
            ("basic", Kind::Chat) => self.chat_basic().await,
            ("deadline", kind) => self.deadline(kind, name).await,
            ("cancel", kind) => self.cancel(kind, name).await,
            ("large", kind) => self.large(kind).await,
            ("metadata", kind) => self.metadata(kind).await,
            (_, kind) => self.error(kind).await,
        }
    }
}

pub fn case_names() -> Vec<String> {
    KINDS.iter().flat_map(|(kind, ..)| WHATS.map(|what| format!("{kind}-{what}"))).collect()
}

pub async fn call(options: Options) -> Result<i32, Error> {
    let mut cases = Vec::new();
    for name in &options.rest {
        let known = name.split_once('-').and_then(|(first, what)| {
            let kind = KINDS.iter().find(|(kind, ..)| *kind == first)?.1;
            WHATS.contains(&what).then_some((name, kind, what))
        });
        cases.push(known.ok_or_else(|| Error::usage(format!("unknown case '{name}': tonic-peer cases lists them")))?);
    }
    let mut caller = Caller::new(options.connect().await?);
    let mut code = 0;
    for (name, kind, what) in cases {
        let start = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos();
        let wait = format!("tonic-{}-{start}", std::process::id());
        let outcome = tokio::time::timeout(CASE_TIME, caller.run(kind, what, &wait))
            .await
            .unwrap_or_else(|_| Err(Mismatch("expected an end within 60 s, saw none".to_owned())));
        match outcome {
            Ok(()) => println!("ok {name}"),
            Err(Mismatch(text)) => {
                println!("failed {name}: {}", text.replace('\n', " "));
                code = 1;
            }
        }
    }
    Ok(code)
}
