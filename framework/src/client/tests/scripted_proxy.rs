//! Scripted proxies.

use std::{net::SocketAddr, sync::Arc};

use futures_core::future::BoxFuture;
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::AbortOnDropHandle;

use super::server::Authority;
use crate::client::Io;

/// A proxy on loopback. It ends when it is dropped.
pub(super) struct ScriptedProxy {
    pub(super) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    _task: AbortOnDropHandle<()>,
}

type Serve = dyn Fn(Box<dyn Io>, Arc<Mutex<Vec<String>>>) -> BoxFuture<'static, ()> + Send + Sync;

impl ScriptedProxy {
    /// The request of each connection.
    pub(super) fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }

    async fn start(tls: Option<&Authority>, serve: Box<Serve>) -> Self {
        let acceptor = tls.map(|authority| {
            let (certificate, key) = authority.issue("127.0.0.1");
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ServerConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_single_cert(
                    vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()],
                    PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
                );
            TlsAcceptor::from(Arc::new(config.unwrap()))
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let task = tokio::spawn({
            let asked = asked.clone();
            async move {
                let mut connections = tokio::task::JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    let stream: Box<dyn Io> = match &acceptor {
                        None => Box::new(stream),
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => Box::new(stream),
                            Err(_) => continue,
                        },
                    };
                    connections.spawn(serve(stream, asked.clone()));
                }
            }
        });
        Self {
            address,
            asked,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// A proxy that reads the head of a request and answers with `answer`. After a 200 it makes a tunnel to `target`,
    /// whatever the request named.
    pub(super) async fn http(
        answer: &'static str,
        target: SocketAddr,
        tls: Option<&Authority>,
    ) -> Self {
        let serve = move |mut stream: Box<dyn Io>, asked: Arc<Mutex<Vec<String>>>| {
            Box::pin(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => return,
                    }
                }
                asked.lock().push(String::from_utf8(head).unwrap());
                stream.write_all(answer.as_bytes()).await.ok();
                if answer.contains(" 200 ") {
                    join(stream, target).await;
                } else {
                    stream.flush().await.ok();
                }
            }) as BoxFuture<'static, ()>
        };
        Self::start(tls, Box::new(serve)).await
    }

    /// A proxy that chooses `method`, answers user and password with `verdict`, and the request with `reply`. After a 0
    /// it makes a tunnel to `target`, whatever the request named.
    pub(super) async fn socks5(method: u8, verdict: u8, reply: u8, target: SocketAddr) -> Self {
        let serve = move |stream: Box<dyn Io>, asked: Arc<Mutex<Vec<String>>>| {
            Box::pin(async move {
                let outcome = socks5(stream, &asked, [method, verdict, reply]).await;
                if let Ok(Some(stream)) = outcome {
                    join(stream, target).await;
                }
            }) as BoxFuture<'static, ()>
        };
        Self::start(None, Box::new(serve)).await
    }

    /// A server that sends `text` on each connection and reads nothing.
    pub(super) async fn other(text: &'static str) -> Self {
        let serve = move |mut stream: Box<dyn Io>, _: Arc<Mutex<Vec<String>>>| {
            Box::pin(async move {
                stream.write_all(text.as_bytes()).await.ok();
                // It must not end before the client has read the text.
                stream.read_u8().await.ok();
            }) as BoxFuture<'static, ()>
        };
        Self::start(None, Box::new(serve)).await
    }
}

async fn join(mut stream: Box<dyn Io>, target: SocketAddr) {
    let mut server = TcpStream::connect(target).await.unwrap();
    tokio::io::copy_bidirectional(&mut stream, &mut server)
        .await
        .ok();
}

/// Records the client's methods, its user and password, and the target as it was named. Returns `None` if the reply was
/// not 0.
async fn socks5(
    mut stream: Box<dyn Io>,
    asked: &Mutex<Vec<String>>,
    [method, verdict, reply]: [u8; 3],
) -> std::io::Result<Option<Box<dyn Io>>> {
    assert_eq!(stream.read_u8().await?, 5);
    let methods = short(&mut stream).await?;
    let mut note = format!("{methods:?}");
    stream.write_all(&[5, method]).await?;
    if method == 2 {
        assert_eq!(stream.read_u8().await?, 1);
        for _ in 0..2 {
            let text = short(&mut stream).await?;
            note += &format!(" {}", String::from_utf8(text).unwrap());
        }
        stream.write_all(&[1, verdict]).await?;
    }
    if verdict == 0 && method != 0xff {
        let mut head = [0; 4];
        stream.read_exact(&mut head).await?;
        assert_eq!(head[..3], [5, 1, 0]);
        let host = match head[3] {
            1 => format!("{:?}", stream.read_u32().await?.to_be_bytes()),
            3 => String::from_utf8(short(&mut stream).await?).unwrap(),
            _ => format!("{:x}", stream.read_u128().await?),
        };
        note += &format!(" {host}:{}", stream.read_u16().await?);
        // It names the address from which it connects, each kind in turn.
        let from = match asked.lock().len() % 3 {
            0 => vec![5, reply, 0, 1, 10, 0, 0, 1, 0, 80],
            1 => [&[5, reply, 0, 3, 2][..], b"me", &[0, 80]].concat(),
            _ => [&[5, reply, 0, 4][..], &[0; 18]].concat(),
        };
        asked.lock().push(note);
        stream.write_all(&from).await?;
        return Ok((reply == 0).then_some(stream));
    }
    asked.lock().push(note);
    Ok(None)
}

async fn short(stream: &mut Box<dyn Io>) -> std::io::Result<Vec<u8>> {
    let length = stream.read_u8().await?;
    let mut text = vec![0; length.into()];
    stream.read_exact(&mut text).await?;
    Ok(text)
}
