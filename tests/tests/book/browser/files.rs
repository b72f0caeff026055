use std::{
    fs,
    path::{Path, PathBuf},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_util::task::AbortOnDropHandle;

/// A web server for the files of a folder.
pub(super) struct Files {
    origin: String,
    folder: PathBuf,
    _task: AbortOnDropHandle<()>,
}

impl Files {
    pub(super) async fn serve(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let served = folder.to_owned();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let served = served.clone();
                tokio::spawn(async move { answer(stream, &served).await });
            }
        });
        Self {
            origin,
            folder: folder.to_owned(),
            _task: AbortOnDropHandle::new(task),
        }
    }

    pub(super) fn url(&self, file: &str) -> String {
        format!("{}/{file}", self.origin)
    }

    /// Whether the folder has the file of a URL.
    pub(super) fn has(&self, url: &str) -> bool {
        let path = url.strip_prefix(&self.origin).unwrap_or(url);
        read(&self.folder, path).is_some()
    }
}

/// Answers one request of a browser, which gives up the connection then.
async fn answer(mut stream: TcpStream, folder: &Path) {
    let mut request = Vec::new();
    let mut part = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut part).await {
            Ok(count @ 1..) => request.extend(&part[..count]),
            // A browser opens connections that it does not use.
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, body) = match read(folder, path) {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", Vec::new()),
    };
    let media = match path
        .split(['?', '#'])
        .next()
        .and_then(|path| path.rsplit('.').next())
    {
        Some("css") => "text/css",
        Some("js") => "text/javascript",
        Some("svg") => "image/svg+xml",
        Some("html") => "text/html; charset=utf-8",
        _ => "application/octet-stream",
    };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    // The browser may have gone to another page.
    let _ = stream.write_all(&[head.as_bytes(), &body].concat()).await;
}

fn read(folder: &Path, path: &str) -> Option<Vec<u8>> {
    let path = path.split(['?', '#']).next()?.trim_start_matches('/');
    let file = if path.is_empty() { "index.html" } else { path };
    fs::read(folder.join(file)).ok()
}
