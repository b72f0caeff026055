//! Rows that need sockets, or that limit resident memory or processor time. Each runs in a separate process.

use std::{future::Future, io::Write as _, process::Command, time::Duration};

use flate2::{Compression, write::GzEncoder};
use pilothouse::client::{Api, Client, Config, Deadlines, ListParams};
use serde_json::json;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpListener,
};

use crate::{
    program::Widget,
    row::{Health, Row},
    run::run,
    server::{
        Protocol,
        act::{Act, bytes, event, repeat},
    },
};

/// The variable that names the row in the child process.
const CHILD: &str = "PILOTHOUSE_HOSTILE_CHILD";

/// The limits of a process.
struct Most {
    /// The growth of the resident memory since the start in MB.
    resident: u64,
    /// The processor time.
    processor: Duration,
}

/// Defines a test that runs `row` in a separate process.
macro_rules! child {
    ($name:ident, $most:expr, $row:expr) => {
        #[test]
        fn $name() {
            let name = concat!(module_path!(), "::", stringify!($name));
            let (_, name) = name.split_once("::").unwrap();
            child(name, $most, || $row);
        }
    };
}

fn child(name: &str, most: Most, row: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        let (resident, used) = (peak(), processor());
        row();
        let (resident, used) = (peak() - resident, processor() - used);
        println!("{resident} MB more, {used:?} of the processor");
        assert!(
            resident <= most.resident,
            "{resident} MB of memory, at most {}",
            most.resident
        );
        assert!(
            used <= most.processor,
            "{used:?} of the processor, at most {:?}",
            most.processor
        );
        return;
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    let command = command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    let output = command.env(CHILD, name).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(
        told.contains("1 passed"),
        "{told}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Returns the peak of the resident memory in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    line.split_whitespace()
        .next()
        .unwrap()
        .parse::<u64>()
        .unwrap()
        / 1024
}

/// Returns the processor time so far.
fn processor() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.map(|field| field.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

/// Runs a row in memory on the paused clock.
fn in_memory(protocol: Protocol, row: Row) {
    runtime(true).block_on(run(protocol, row));
}

fn runtime(paused: bool) -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().start_paused(paused).build().unwrap()
}

/// A call that takes longer hangs. It is long, because other tests share the processors: what a call costs is limited by
/// [`Most::processor`].
const HANGS: Duration = Duration::from_secs(120);

/// Lists over a socket; the server handles each connection with `serve`. The list must fail with `words`.
fn over_a_socket<F>(
    scheme: &'static str,
    words: &'static str,
    serve: impl Fn(tokio::net::TcpStream) -> F + Send + 'static,
) where
    F: Future<Output = ()> + Send + 'static,
{
    runtime(false).block_on(async move {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        let deadlines = Deadlines::default()
            .response(Duration::from_secs(3))
            .idle(Duration::from_secs(3));
        let config = Config::new(format!("{scheme}://{address}").parse().unwrap());
        let client = Client::new(config.with_deadlines(deadlines).with_compression(true)).unwrap();
        let api = Api::<Widget>::all(&client);
        let params = ListParams::default();
        let listed = tokio::time::timeout(HANGS, api.list(&params)).await;
        let text = listed.expect("the list hangs").unwrap_err().to_string();
        assert!(text.contains(words), "{text}");
    });
}

/// Reads the head of a request.
async fn head(io: &mut (impl AsyncRead + Unpin)) {
    let mut seen = Vec::new();
    while !seen.ends_with(b"\r\n\r\n") {
        match io.read_u8().await {
            Ok(byte) => seen.push(byte),
            Err(_) => return,
        }
    }
}

/// Answers each request with these bytes as gzip.
async fn answer_gzip(mut io: impl AsyncRead + AsyncWrite + Unpin, body: Vec<u8>) {
    head(&mut io).await;
    let text = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // The client may have closed the connection.
    let _ = io.write_all(&[text.into_bytes(), body].concat()).await;
    let _ = io.read_u8().await;
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

/// The limit of processor time for a row on the paused clock.
const LITTLE: Duration = Duration::from_secs(20);

child!(
    a_gzip_answer_that_expands_a_thousandfold,
    Most {
        resident: 300,
        processor: LITTLE
    },
    {
        let bomb = gzip(&vec![b'['; 32 << 20]);
        over_a_socket("http", "list widgets", move |stream| {
            answer_gzip(stream, bomb.clone())
        });
    }
);

child!(
    a_gzip_answer_that_is_garbage_or_cut_off,
    Most {
        resident: 60,
        processor: LITTLE
    },
    {
        over_a_socket("http", "gzip", |stream| {
            answer_gzip(stream, vec![0x55; 10_000])
        });
        over_a_socket("http", "gzip", |stream| {
            let mut whole = gzip(br#"{"kind":"WidgetList","metadata":{},"items":[]}"#);
            whole.truncate(whole.len() / 2);
            answer_gzip(stream, whole)
        });
    }
);

child!(
    an_http_server_for_a_tls_client,
    Most {
        resident: 60,
        processor: LITTLE
    },
    over_a_socket("https", "TLS", |mut stream| async move {
        let _ = stream
            .write_all(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
            .await;
        let _ = stream.read_u8().await;
    })
);

child!(
    a_tls_server_for_an_http_client,
    Most {
        resident: 60,
        processor: LITTLE
    },
    over_a_socket("http", "HTTPS server", |mut stream| async move {
        // The answer of Go's TLS server to plain HTTP.
        let _ = stream
            .write_all(b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n")
            .await;
        let _ = stream.shutdown().await;
    })
);

child!(
    interim_answers_at_full_speed,
    // The deadline of an answer is 3 s here, and the client does not send the read again after it.
    Most {
        resident: 60,
        processor: Duration::from_secs(8)
    },
    over_a_socket("http", "interim answers", |mut stream| async move {
        head(&mut stream).await;
        let many = b"HTTP/1.1 100 Continue\r\n\r\n".repeat(1000);
        while stream.write_all(&many).await.is_ok() {}
    })
);

child!(
    an_object_of_fifty_megabytes,
    Most {
        resident: 900,
        processor: Duration::from_secs(60)
    },
    in_memory(
        Protocol::Http2,
        Row::from_the_start()
            .server(|server, asked| {
                if !asked.is_of_widgets() || !asked.is_any_list() {
                    return None;
                }
                let mut objects = server.read(|world| world.list("widgets", None));
                objects[0]["spec"]["data"] = json!("x".repeat(50 << 20));
                Some(match asked.is_list() {
                    true => Act::json(
                        200,
                        &crate::server::world::list_of("widgets", &objects, &server.version(), ""),
                    ),
                    false => Act::status(422, "Invalid"),
                })
            })
            .megabytes(120)
            .reports(Health::Fresh)
    )
);

child!(
    an_endless_watch_line,
    Most {
        resident: 150,
        processor: Duration::from_secs(60)
    },
    in_memory(
        Protocol::Http2,
        Row::after_sync()
            .server(|_, asked| asked.is_plain_watch().then(|| {
                let piece = bytes(vec![b'x'; 32 * 1024]);
                Act::steps(repeat(vec![bytes("{\"type\":\"")], 10, move |_| {
                    Some(piece.clone())
                }))
            }))
            .megabytes(200)
            .reports(Health::Anything)
    )
);

child!(
    watch_events_at_full_speed,
    Most { resident: 100, processor: Duration::from_secs(60) },
    in_memory(
        Protocol::Http2,
        Row::after_sync()
            .server(|server, asked| asked.is_plain_watch().then(|| {
                let version: u64 = server.version().parse().unwrap();
                let (server, padding) = (server.clone(), "x".repeat(10_000));
                Act::steps(repeat(vec![], 10, move |number| {
                    server.is_hostile().then(|| {
                        let metadata = json!({
                            "name": "flood", "namespace": "default", "uid": "f",
                            "resourceVersion": (version + number).to_string(), "annotations": {"padding": padding},
                        });
                        event("MODIFIED", &json!({"metadata": metadata, "spec": {"size": number}}))
                    })
                }))
            }))
            .megabytes(80)
            .forgets()
            .reports(Health::Anything)
    )
);

child!(
    an_endless_error_page,
    Most {
        resident: 100,
        processor: Duration::from_secs(60)
    },
    in_memory(
        Protocol::Http1,
        Row::from_the_start()
            .server(|_, _| {
                let piece = bytes(vec![b'x'; 32 * 1024]);
                let steps = repeat(vec![], 10, move |_| Some(piece.clone()));
                Some(Act::steps(steps).code(500))
            })
            .megabytes(100)
            .reports(Health::NotReady("500"))
    )
);
