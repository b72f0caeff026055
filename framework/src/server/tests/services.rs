//! Tower services as routes.

use std::{convert::Infallible, future::pending, time::Duration};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::Instant,
};
use tower::service_fn;

use super::connected;
use crate::{
    client::{Body, BoxError},
    health::Checks,
    logged::logged,
    server::Routes,
};

/// A service that responds with the method, the path and the length of the request's body.
fn echo(routes: Routes, path: &str) -> Routes {
    routes.service(
        path,
        service_fn(|request: Request<Body>| async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            let text = format!("{} {} {}", head.method, head.uri.path(), body.len());
            Ok::<_, BoxError>(Response::new(Body::from(text.into_bytes())))
        }),
    )
}

async fn ask(routes: &Routes, method: Method, path: &str, body: Vec<u8>) -> (u16, String) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(body.into());
    let reply = routes.answer(request.unwrap(), || true).await;
    let status = reply.status().as_u16();
    let body = reply.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8_lossy(&body).into_owned())
}

#[tokio::test]
async fn a_service_gets_each_method_and_the_body_at_its_path_or_below_it() {
    let routes = Routes::new().health("/livez", Checks::new("livez"));
    let routes = echo(echo(routes, "/hook"), "/api/");
    for (method, path, expected) in [
        (Method::POST, "/hook", "200 POST /hook 3"),
        (Method::GET, "/hook", "200 GET /hook 3"),
        (
            Method::DELETE,
            "/api/sites/a?x=1",
            "200 DELETE /api/sites/a 3",
        ),
        (Method::PUT, "/api", "200 PUT /api 3"),
        (Method::GET, "/hook/below", "404 404 page not found\n"),
        (Method::GET, "/apis", "404 404 page not found\n"),
        (
            Method::POST,
            "/livez",
            "405 only GET and HEAD are served here\n",
        ),
    ] {
        let (status, text) = ask(&routes, method, path, b"abc".to_vec()).await;
        assert_eq!(format!("{status} {text}"), expected);
    }
}

#[tokio::test]
async fn a_body_of_more_than_one_mebibyte_is_refused() {
    let routes = echo(Routes::new(), "/hook");
    let most = 1024 * 1024;
    let fits = ask(&routes, Method::POST, "/hook", vec![0; most]).await;
    assert_eq!(fits, (200, format!("POST /hook {most}")));
    let announced = Request::post("/hook").header("content-length", most + 1);
    let announced = announced.body(Body::empty()).unwrap();
    assert_eq!(routes.answer(announced, || true).await.status(), 413);
    // The length is not announced: the service sees an error when it reads.
    let cut = ask(&routes, Method::POST, "/hook", vec![0; most + 1]).await;
    assert_eq!(cut.0, 500);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_does_not_respond_in_time_is_dropped_and_the_connection_stays() {
    let routes = Routes::new()
        .service(
            "/slow",
            service_fn(|_: Request<Body>| pending::<Result<Response<Body>, Infallible>>()),
        )
        .health("/livez", Checks::new("livez"));
    let (mut client, served) = connected(routes, None, 4096);
    let began = Instant::now();
    let slow = b"GET /slow HTTP/1.1\r\nHost: x\r\n\r\n";
    client.write_all(slow).await.unwrap();
    let mut text = String::new();
    let mut some = [0; 1024];
    let read = client.read(&mut some).await.unwrap();
    text.push_str(&String::from_utf8_lossy(&some[..read]));
    assert!(text.starts_with("HTTP/1.1 503 "), "{text}");
    assert!(
        text.ends_with("the route did not respond within 25 s\n"),
        "{text}"
    );
    assert_eq!(began.elapsed().as_secs(), 25);
    let live = b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client.write_all(live).await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    served.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_service_that_fails_or_panics_becomes_status_500_and_one_line_per_minute() {
    let (log, _guard) = logged(tracing::Level::INFO);
    let routes = Routes::new()
        .service(
            "/fails",
            service_fn(|_: Request<Body>| async {
                Err::<Response<Body>, BoxError>("no database".into())
            }),
        )
        .service(
            "/panics",
            service_fn(|request: Request<Body>| async move {
                assert_ne!(request.uri().path(), "/panics", "on purpose");
                Ok::<_, Infallible>(Response::new(Body::empty()))
            }),
        );
    for path in ["/fails", "/fails", "/fails", "/panics"] {
        let (status, text) = ask(&routes, Method::GET, path, Vec::new()).await;
        assert_eq!(
            (status, text.as_str()),
            (500, "500 internal server error\n")
        );
    }
    let said = log.text();
    assert_eq!(
        said.lines().filter(|line| line.contains("ERROR")).count(),
        2,
        "{said}"
    );
    assert!(
        said.contains("the route /fails failed: no database"),
        "{said}"
    );
    assert!(said.contains("the route /panics panicked: "), "{said}");
    tokio::time::advance(Duration::from_secs(61)).await;
    ask(&routes, Method::GET, "/fails", Vec::new()).await;
    let said = log.text();
    assert!(
        said.contains("3 requests failed since the last such line"),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_response_in_pieces_reaches_the_peer_piece_by_piece() {
    let routes = Routes::new().service(
        "/pieces",
        service_fn(|_: Request<Body>| async {
            let pieces = futures_util::stream::unfold(0, |number| async move {
                if number == 3 {
                    return None;
                }
                tokio::time::sleep(Duration::from_secs(5)).await;
                let piece = Frame::data(Bytes::from(format!("piece {number};")));
                Some((Ok::<_, Infallible>(piece), number + 1))
            });
            Ok::<_, Infallible>(Response::new(StreamBody::new(pieces)))
        }),
    );
    let (mut client, served) = connected(routes, None, 4096);
    let began = Instant::now();
    let request = b"GET /pieces HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    client.write_all(request).await.unwrap();
    let mut text = String::new();
    let mut some = [0; 1024];
    let mut seen = Vec::new();
    loop {
        let read = client.read(&mut some).await.unwrap();
        if read == 0 {
            break;
        }
        let had = text.matches("piece").count();
        text.push_str(&String::from_utf8_lossy(&some[..read]));
        if text.matches("piece").count() > had {
            seen.push(began.elapsed().as_secs());
        }
    }
    assert!(text.starts_with("HTTP/1.1 200 "), "{text}");
    assert_eq!(seen, [5, 10, 15]);
    served.await.unwrap();
}
