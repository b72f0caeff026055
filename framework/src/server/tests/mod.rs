//! The server on in-memory connections, so that time is tokio's, and on real sockets where time does not matter.

mod crowds;
mod limits;
mod reviews;
mod services;
mod tls;

use std::{net::Ipv4Addr, sync::Arc, time::Duration};

use http::{Response, StatusCode};
use http_body_util::Full;
use tokio::{io::DuplexStream, task::JoinHandle, time::Instant};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{Limits, Reply, Routes, connection::Tasks, server::secured, slots::Slots};

/// One end of a connection whose other end the server serves. The task ends with the connection.
fn connected(
    routes: Routes,
    acceptor: Option<TlsAcceptor>,
    buffer: usize,
) -> (DuplexStream, JoinHandle<Duration>) {
    connected_with(Limits::ENDPOINTS, routes, acceptor, buffer)
}

/// As [`connected`], with these limits.
fn connected_with(
    limits: Limits,
    routes: Routes,
    acceptor: Option<TlsAcceptor>,
    buffer: usize,
) -> (DuplexStream, JoinHandle<Duration>) {
    let (ours, theirs) = tokio::io::duplex(buffer);
    let tasks = Tasks {
        tracker: TaskTracker::new(),
        ended: CancellationToken::new(),
    };
    let served = async move {
        let began = Instant::now();
        let tracker = tasks.tracker.clone();
        let stop = CancellationToken::new();
        let slot = Slots::new(limits).take(Ipv4Addr::LOCALHOST.into()).await;
        secured(theirs, slot, acceptor, Arc::new(routes), tasks, stop).await;
        // No task of a connection may outlive it.
        tracker.close();
        tracker.wait().await;
        began.elapsed()
    };
    (ours, tokio::spawn(served))
}

/// A response of `count` bytes.
fn bytes(count: usize) -> Reply {
    let mut reply = Response::new(Full::new(vec![b'x'; count].into()));
    *reply.status_mut() = StatusCode::OK;
    reply
}
