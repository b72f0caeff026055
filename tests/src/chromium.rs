//! A browser without a window, for what is shown in a browser: the book and the debug page.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs,
    io::{self, Write},
    process::{Child, Command, Stdio},
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{SinkExt, StreamExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::{sleep, timeout},
};
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{Message, protocol::Role},
};

/// The program of an environment variable or of the PATH, or `None` if it is not installed.
///
/// Then it prints a line that begins with `skipped: `, which `.ci/run` looks for.
pub fn program(variable: &str, usual: &str) -> Option<OsString> {
    let program = env::var_os(variable).unwrap_or_else(|| usual.into());
    let is_there = Command::new(&program).arg("--version").output().is_ok();
    if !is_there {
        // Not `eprintln!`, because the harness hides the output of a passing test.
        let line = format!("skipped: {usual}: none found\n");
        let _ = io::stderr().write_all(line.as_bytes());
    }
    is_there.then_some(program)
}

/// The browser of `PILOTHOUSE_CHROMIUM` or of the PATH.
pub fn chromium() -> Option<OsString> {
    program("PILOTHOUSE_CHROMIUM", "chromium")
}

/// Enough beside builds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A browser without a window, with one page, controlled by the DevTools protocol.
pub struct Browser {
    process: Child,
    socket: WebSocketStream<TcpStream>,
    /// The session of the page.
    session: Value,
    count: u64,
    complaints: Vec<String>,
    /// Removed last.
    _home: tempfile::TempDir,
}

impl Browser {
    /// Starts the program.
    pub async fn start(program: &OsStr) -> Self {
        let home = tempfile::tempdir().unwrap();
        let process = Command::new(program)
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--hide-scrollbars", "--remote-debugging-port=0"])
            .arg(format!("--user-data-dir={}", home.path().display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The browser writes its port and the path of its socket there.
        let file = home.path().join("DevToolsActivePort");
        let address = async {
            loop {
                let text = fs::read_to_string(&file).unwrap_or_default();
                if let Some((port, path)) = text.split_once('\n') {
                    return (port.to_owned(), path.trim().to_owned());
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        let (port, path) = timeout(PATIENCE, address)
            .await
            .expect("the browser starts");
        let mut browser = Self {
            process,
            socket: connect(&port, &path).await,
            session: Value::Null,
            count: 0,
            complaints: Vec::new(),
            _home: home,
        };
        let page = browser
            .call("Target.createTarget", json!({"url": "about:blank"}))
            .await;
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        browser.session = browser.call("Target.attachToTarget", attach).await["sessionId"].take();
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        browser
    }

    /// Opens a page, and returns when it is loaded.
    pub async fn open(&mut self, url: &str) {
        // Otherwise a change of only the fragment loads nothing.
        self.go("about:blank").await;
        self.go(url).await;
    }

    async fn go(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url})).await;
        // The protocol's own event may come before or after the answer of `navigate`.
        let loaded = format!(
            "new Promise(done => {{ const look = () => document.readyState === 'complete' && location.href.startsWith({}) ? done(true) : setTimeout(look, 10); look(); }})",
            json!(url.split('#').next())
        );
        let looks = async {
            // The page in which the script begins may be the one before.
            while self
                .call(
                    "Runtime.evaluate",
                    json!({"expression": loaded, "awaitPromise": true, "returnByValue": true}),
                )
                .await["result"]["value"]
                != true
            {}
        };
        timeout(PATIENCE, looks)
            .await
            .unwrap_or_else(|_| panic!("{url} is not loaded"));
    }

    /// Whether pages are to be dark.
    pub async fn prefer_dark(&mut self, dark: bool) {
        let value = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
        self.call("Emulation.setEmulatedMedia", features).await;
    }

    /// Sets the width of the window in pixels. It is 900 pixels high.
    pub async fn set_width(&mut self, width: u32) {
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.call("Emulation.setDeviceMetricsOverride", metrics)
            .await;
    }

    /// The value of an expression in the page, also of a promise.
    pub async fn evaluate<T: DeserializeOwned>(&mut self, expression: &str) -> T {
        let parameters =
            json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let mut answer = self.call("Runtime.evaluate", parameters).await;
        assert!(answer["exceptionDetails"].is_null(), "{answer}");
        serde_json::from_value(answer["result"]["value"].take()).unwrap()
    }

    /// A picture of what the window shows, as PNG.
    pub async fn picture(&mut self) -> Vec<u8> {
        let answer = self.call("Page.captureScreenshot", json!({})).await;
        BASE64_STANDARD
            .decode(answer["data"].as_str().unwrap())
            .unwrap()
    }

    /// The errors of the pages since the last call: files that are missing, and exceptions of scripts.
    pub fn complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.count += 1;
        let mut message = json!({"id": self.count, "method": method, "params": parameters});
        if !self.session.is_null() {
            message["sessionId"] = self.session.clone();
        }
        self.socket
            .send(Message::text(message.to_string()))
            .await
            .unwrap();
        let answered = async {
            loop {
                let message = self.socket.next().await.expect("the browser runs").unwrap();
                let Ok(text) = message.into_text() else {
                    continue;
                };
                let Ok(mut message) = serde_json::from_str::<Value>(&text) else {
                    continue;
                };
                if message["id"] == self.count {
                    // A page that is left while it is asked answers with an error.
                    return message["result"].take();
                }
                let complaint = match message["method"].as_str() {
                    Some("Log.entryAdded") if message["params"]["entry"]["level"] == "error" => {
                        &message["params"]["entry"]
                    }
                    Some("Runtime.exceptionThrown") => &message["params"]["exceptionDetails"],
                    _ => continue,
                };
                self.complaints
                    .push(format!("{} {}", complaint["text"], complaint["url"]));
            }
        };
        timeout(PATIENCE, answered)
            .await
            .unwrap_or_else(|_| panic!("no answer to {method}"))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Opens a WebSocket.
async fn connect(port: &str, path: &str) -> WebSocketStream<TcpStream> {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))
        .await
        .unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIGJvb2sgb2YgdGhlIQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    // The server says nothing more before it is asked.
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        answer.push(stream.read_u8().await.unwrap());
    }
    assert!(
        answer.starts_with(b"HTTP/1.1 101 "),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    WebSocketStream::from_raw_socket(stream, Role::Client, None).await
}
