//! A bare proxy between WebSocket clients and a model: it stores nothing, checks nothing and decides nothing. What it
//! costs is the least that anything between the two can cost; the bench compares the product with it.

use std::error::Error;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;

use bytes::Bytes;
use cloister::CliError;
use cloister_protocol::with_causes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Request, header};
use hyper_util::rt::TokioIo;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Bare {
    /// Where the model is
    #[arg(long, value_name = "ADDRESS")]
    model: SocketAddr,
    /// The path that it takes calls at
    #[arg(long)]
    path: String,
}

#[derive(Deserialize)]
struct SaidWords {
    id: String,
    text: String,
}

/// Says where it listens, then serves until it is killed.
pub(crate) async fn run(asked: Bare) -> Result<ExitCode, CliError> {
    let failed = "the bare proxy could not listen";
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(CliError::io(failed))?;
    let address = listener.local_addr().map_err(CliError::io(failed))?;
    writeln!(std::io::stdout(), "{address}").map_err(CliError::io(failed))?;
    let mut clients = JoinSet::new();
    loop {
        let (stream, _) = listener.accept().await.map_err(CliError::io(failed))?;
        let asked = asked.clone();
        clients.spawn(async move {
            if let Err(error) = serve(stream, &asked).await {
                tracing::debug!(error = with_causes(&*error), "a client of the bare proxy left");
            }
        });
        while clients.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, asked: &Bare) -> Result<(), Box<dyn Error + Send + Sync>> {
    stream.set_nodelay(true)?;
    let mut socket = tokio_tungstenite::accept_async(stream).await?;
    let model = TcpStream::connect(asked.model).await?;
    model.set_nodelay(true)?;
    let (mut sender, connection) = handshake(TokioIo::new(model)).await?;
    let mut driver = JoinSet::new();
    driver.spawn(connection);
    while let Some(message) = socket.next().await {
        let Message::Text(text) = message? else { continue };
        answer(&mut socket, &mut sender, asked, serde_json::from_str(&text)?).await?;
    }
    Ok(())
}

/// Asks the model, and passes each word on as it comes.
async fn answer(
    socket: &mut WebSocketStream<TcpStream>,
    sender: &mut SendRequest<Full<Bytes>>,
    asked: &Bare,
    said: SaidWords,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    socket.send(frame(&json!({"type": "accepted", "id": said.id}))).await?;
    let messages = json!([{"role": "user", "content": said.text}]);
    let request = Request::post(&asked.path)
        .header(header::HOST, asked.model.to_string())
        .header(header::CONTENT_TYPE, "application/json")
        .body(Full::from(json!({"stream": true, "messages": messages}).to_string()))?;
    sender.ready().await?;
    let mut body = sender.send_request(request).await?.into_body();
    let (mut waiting, mut text) = (Vec::new(), String::new());
    while let Some(piece) = body.frame().await {
        waiting.extend_from_slice(piece?.data_ref().map_or(&[], Bytes::as_ref));
        while let Some(end) = waiting.windows(2).position(|two| two == b"\n\n") {
            let event: Vec<u8> = waiting.drain(..end + 2).collect();
            let Some(word) = word_in(&event) else { continue };
            text.push_str(&word);
            socket.send(frame(&json!({"type": "text_chunk", "text": word}))).await?;
        }
    }
    socket.send(frame(&json!({"type": "end", "message": said.id, "text": text}))).await?;
    Ok(())
}

fn frame(value: &Value) -> Message {
    Message::text(value.to_string())
}

fn word_in(event: &[u8]) -> Option<String> {
    let chunk: Value = serde_json::from_slice(event.strip_prefix(b"data: ")?).ok()?;
    Some(chunk.pointer("/choices/0/delta/content")?.as_str()?.to_owned())
}
