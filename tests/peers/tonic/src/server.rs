//! The Echo service, and what all servers of this program share: listening, metadata, ending.

use crate::echo::{EchoReply, EchoRequest, Wait, echo_server};
use crate::options::{Address, Error, Options};
use crate::{MAX_MESSAGE, pattern};
use http::HeaderMap;
use http_body::Frame;
use http_body_util::BodyExt;
use std::collections::HashMap;
use std::future::Future;
use std::io::Read;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio_stream::wrappers::{ReceiverStream, UnixListenerStream};
use tonic::body::Body;
use tonic::transport::server::{Router, TcpIncoming};
use tonic::{Code, Request, Response, Status, Streaming};
use tower::Service;

const DRAIN_TIME: Duration = Duration::from_secs(10);

type Waits = Arc<Mutex<HashMap<String, Wait>>>;

/// A wait under way; tonic drops the handler of a call that ends, and the wait with it.
struct Waiting {
    waits: Waits,
    name: String,
}

impl Waiting {
    fn new(waits: &Waits, name: &str) -> Self {
        waits.lock().unwrap().insert(name.to_owned(), Wait::UnderWay);
        Self { waits: waits.clone(), name: name.to_owned() }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.waits.lock().unwrap().insert(self.name.clone(), Wait::Cancelled);
    }
}

#[derive(Default)]
struct Echo {
    waits: Waits,
}

fn payload_for(request: &EchoRequest) -> Vec<u8> {
    match request.reply_size {
        0 => request.payload.clone(),
        size => pattern(size as usize),
    }
}

fn failure(request: &EchoRequest) -> Result<(), Status> {
    match &request.fail {
        Some(fail) => Err(Status::new(Code::from(fail.code as i32), fail.text.clone())),
        None => Ok(()),
    }
}

/// What grpc-timeout says; tonic has no other way to learn of it.
fn timeout_of<T>(request: &Request<T>) -> Option<Duration> {
    let text = request.metadata().get("grpc-timeout")?.to_str().ok()?;
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let amount: u64 = digits.parse().ok()?;
    Some(match unit {
        "H" => Duration::from_secs(amount * 3600),
        "M" => Duration::from_secs(amount * 60),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    })
}

/// Waits in a call whose headers are not sent yet. There tonic itself would answer a passed deadline, but with CANCELLED, and a
/// client that hears this before its own timer fires takes it for the status: so this answers a little sooner.
async fn wait_before_headers(waiting: Waiting, timeout: Option<Duration>) -> Status {
    let Some(timeout) = timeout else { std::future::pending().await };
    tokio::time::sleep(timeout.saturating_sub(Duration::from_millis(20))).await;
    drop(waiting);
    Status::deadline_exceeded("the deadline has passed")
}

type Replies = ReceiverStream<Result<EchoReply, Status>>;
type Sender = mpsc::Sender<Result<EchoReply, Status>>;

/// Waits in a call whose replies go through `sender`, which tonic closes with the call.
async fn wait_behind_headers(waits: &Waits, name: &str, sender: &Sender) {
    let _waiting = Waiting::new(waits, name);
    sender.closed().await;
}

async fn expand(waits: Waits, request: EchoRequest, sender: Sender) -> Result<(), Status> {
    let payload = payload_for(&request);
    for index in 0..request.count {
        if sender.send(Ok(EchoReply { payload: payload.clone(), index, ..Default::default() })).await.is_err() {
            return Ok(());
        }
    }
    if !request.wait.is_empty() {
        wait_behind_headers(&waits, &request.wait, &sender).await;
    }
    failure(&request)
}

async fn chat(waits: Waits, mut requests: Streaming<EchoRequest>, sender: Sender) -> Result<(), Status> {
    let mut index = 0;
    while let Some(request) = requests.message().await? {
        failure(&request)?;
        if !request.wait.is_empty() {
            wait_behind_headers(&waits, &request.wait, &sender).await;
        }
        let reply = EchoReply { payload: payload_for(&request), index, ..Default::default() };
        if sender.send(Ok(reply)).await.is_err() {
            break;
        }
        index += 1;
    }
    Ok(())
}

/// Runs what produces the replies of a call, so that the headers can go out at once.
fn produce<F>(work: impl FnOnce(Sender) -> F) -> Response<Replies>
where
    F: Future<Output = Result<(), Status>> + Send + 'static,
{
    let (sender, receiver) = mpsc::channel(1);
    let last = sender.clone();
    let work = work(sender);
    tokio::spawn(async move {
        if let Err(status) = work.await {
            let _ = last.send(Err(status)).await;
        }
    });
    Response::new(ReceiverStream::new(receiver))
}

#[tonic::async_trait]
impl echo_server::Echo for Echo {
    async fn unary(&self, request: Request<EchoRequest>) -> Result<Response<EchoReply>, Status> {
        let timeout = timeout_of(&request);
        let request = request.into_inner();
        failure(&request)?;
        if !request.wait.is_empty() {
            return Err(wait_before_headers(Waiting::new(&self.waits, &request.wait), timeout).await);
        }
        let wait = self.waits.lock().unwrap().get(&request.ask).copied().unwrap_or_default();
        Ok(Response::new(EchoReply {
            payload: payload_for(&request),
            timeout_ms: timeout.map_or(0, |left| left.as_micros().div_ceil(1000) as u32),
            wait: wait.into(),
            ..Default::default()
        }))
    }

    async fn collect(&self, request: Request<Streaming<EchoRequest>>) -> Result<Response<EchoReply>, Status> {
        let timeout = timeout_of(&request);
        let mut requests = request.into_inner();
        let mut reply = EchoReply::default();
        while let Some(request) = requests.message().await? {
            failure(&request)?;
            if !request.wait.is_empty() {
                return Err(wait_before_headers(Waiting::new(&self.waits, &request.wait), timeout).await);
            }
            reply.payload.append(&mut payload_for(&request));
            reply.index += 1;
        }
        Ok(Response::new(reply))
    }

    type ExpandStream = Replies;
    async fn expand(&self, request: Request<EchoRequest>) -> Result<Response<Replies>, Status> {
        let waits = self.waits.clone();
        Ok(produce(|sender| expand(waits, request.into_inner(), sender)))
    }

    type ChatStream = Replies;
    async fn chat(&self, request: Request<Streaming<EchoRequest>>) -> Result<Response<Replies>, Status> {
        let waits = self.waits.clone();
        Ok(produce(|sender| chat(waits, request.into_inner(), sender)))
    }
}

/// Sends request metadata back as initial and as trailing metadata. A handler could not: tonic lets it put trailing metadata
/// into errors only.
#[derive(Clone)]
struct EchoMetadata<S> {
    inner: S,
}

fn append(headers: &mut HeaderMap, more: &HeaderMap) {
    for (key, value) in more {
        headers.append(key, value.clone());
    }
}

impl<S> Service<http::Request<Body>> for EchoMetadata<S>
where
    S: Service<http::Request<Body>, Response = http::Response<Body>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let mut echoed = HeaderMap::new();
        for (key, value) in request.headers() {
            if key.as_str().starts_with("echo-") {
                echoed.append(key, value.clone());
            }
        }
        let response = self.inner.call(request);
        Box::pin(async move {
            let (mut parts, body) = response.await?.into_parts();
            append(&mut parts.headers, &echoed);
            if parts.headers.contains_key(Status::GRPC_STATUS) {
                return Ok(http::Response::from_parts(parts, body)); // trailers only: there is no second block
            }
            let body = body.map_frame(move |frame| match frame.into_trailers() {
                Ok(mut trailers) => {
                    append(&mut trailers, &echoed);
                    Frame::trailers(trailers)
                }
                Err(frame) => frame,
            });
            Ok(http::Response::from_parts(parts, Body::new(body)))
        })
    }
}

/// Ends the program when nobody holds the other end of its stdin any more.
pub fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut buffer = [0; 4096];
        while std::io::stdin().read(&mut buffer).is_ok_and(|length| length > 0) {}
        std::process::exit(0);
    });
}

async fn terminated(mut signal: Signal) {
    signal.recv().await;
    tokio::spawn(async {
        tokio::time::sleep(DRAIN_TIME).await;
        std::process::exit(0);
    });
}

/// Listens where the options say, says so, and serves until SIGTERM and the end of the last call.
pub async fn run<L>(router: Router<L>, options: &Options) -> Result<i32, Error>
where
    L: tower::Layer<tonic::service::Routes> + Clone,
    L::Service: Service<http::Request<Body>, Response = http::Response<Body>> + Clone + Send + 'static,
    <L::Service as Service<http::Request<Body>>>::Future: Send,
    <L::Service as Service<http::Request<Body>>>::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send,
{
    let signal = signal(SignalKind::terminate())?; // caught from here on, before anybody knows of us
    match &options.address {
        Address::Tcp(place) => {
            let listener = tokio::net::TcpListener::bind(place).await?;
            println!("listening tcp:{}", listener.local_addr()?);
            let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
            router.serve_with_incoming_shutdown(incoming, terminated(signal)).await?;
        }
        Address::Unix(path) => {
            let listener = tokio::net::UnixListener::bind(path)?;
            println!("listening unix:{path}");
            router.serve_with_incoming_shutdown(UnixListenerStream::new(listener), terminated(signal)).await?;
        }
    }
    Ok(0)
}

pub fn builder(options: &Options) -> Result<tonic::transport::Server, Error> {
    let server = tonic::transport::Server::builder();
    Ok(match options.server_tls() {
        Some(tls) => server.tls_config(tls)?,
        None => server,
    })
}

pub async fn serve(options: Options) -> Result<i32, Error> {
    let service = echo_server::EchoServer::new(Echo::default())
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    end_with_stdin();
    let layer = tower::layer::layer_fn(|inner| EchoMetadata { inner });
    run(builder(&options)?.layer(layer).add_service(service), &options).await
}
