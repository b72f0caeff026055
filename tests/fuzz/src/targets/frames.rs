//! Checks the WebSocket frames of `exec`: for every input, the process gets its output and an end, or the call returns an error.

use std::sync::Arc;

use base64::{Engine, prelude::BASE64_STANDARD};
use pilothouse::{
    client::{Api, Client, Config, ExecParams},
    k8s::api::core::v1::Pod,
};
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::input;

/// The longest wait for the process.
const LONGEST: std::time::Duration = std::time::Duration::from_secs(10);

pub(crate) fn run(data: &[u8]) {
    let (form, rest) = input::choice(data);
    let (bytes, outputs) = match form % 2 {
        0 => (rest.to_vec(), None),
        _ => {
            let (bytes, outputs) = messages(rest);
            (bytes, Some(outputs))
        }
    };
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build();
    runtime.expect("a runtime").block_on(async move {
        let (sender, mut streams) = tokio::sync::mpsc::unbounded_channel();
        let connector = move || {
            let (near, far) = tokio::io::duplex(64 * 1024);
            _ = sender.send(far);
            Ok(near)
        };
        let config = Config::new(http::Uri::from_static("http://server"));
        let client = Client::builder(config)
            .connector(Arc::new(connector))
            .build();
        let client = client.expect("a configuration that needs no file");
        let server = tokio::spawn(async move {
            let stream = streams.recv().await.expect("a connection");
            serve(stream, &bytes).await;
        });
        let pods = Api::<Pod>::namespaced(&client, "n");
        let params = ExecParams::new(["true"]);
        let work = async { pods.exec("a", &params).await?.output().await };
        let finished = tokio::time::timeout(LONGEST, work).await;
        let finished = finished.expect("an end");
        if let (Ok(finished), Some([stdout, stderr])) = (finished, outputs) {
            assert_eq!(finished.stdout, stdout);
            assert_eq!(finished.stderr, stderr);
        }
        server.abort();
    });
}

/// Reads messages, each a length byte and that many bytes, and returns them as frames, with the expected outputs.
fn messages(mut rest: &[u8]) -> (Vec<u8>, [Vec<u8>; 2]) {
    let (mut bytes, mut outputs) = (Vec::new(), [Vec::new(), Vec::new()]);
    while let Some((length, after)) = rest.split_first() {
        let length = usize::from(*length % 126).min(after.len());
        let (message, after) = after.split_at(length);
        rest = after;
        bytes.push(0x82);
        bytes.push(length as u8);
        bytes.extend_from_slice(message);
        match message {
            [1, text @ ..] => outputs[0].extend_from_slice(text),
            [2, text @ ..] => outputs[1].extend_from_slice(text),
            _ => {}
        }
    }
    (bytes, outputs)
}

/// Answers the handshake, then sends `bytes` and ends.
async fn serve(mut stream: DuplexStream, bytes: &[u8]) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head);
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    let key = headers.find(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-key"));
    let key = key.map(|(_, key)| key).unwrap_or_default();
    let text = format!("{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11");
    let proof = BASE64_STANDARD.encode(digest(&SHA1_FOR_LEGACY_USE_ONLY, text.as_bytes()));
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {proof}\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n"
    );
    _ = stream.write_all(answer.as_bytes()).await;
    _ = stream.write_all(bytes).await;
    _ = stream.shutdown().await;
    // Read what the client sends, as a server does.
    _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
}
