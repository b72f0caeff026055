use std::collections::BTreeMap;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::FutureExt;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, USER_AGENT};
use http::{Request, Response};
use parking_lot::RwLock;
use serde_json::Value;

use super::destination::Destination;
use super::{client, failure, services};
use crate::store::Store;

type Answering = Pin<Box<dyn Future<Output = Response<Bytes>> + Send>>;

/// A webhook in Rust.
#[derive(Clone)]
pub(crate) struct Handler(Arc<dyn Fn(Request<Bytes>) -> Answering + Send + Sync>);

impl Handler {
    pub(crate) fn new<F, R>(answer: F) -> Self
    where
        F: Fn(Request<Bytes>) -> R + Send + Sync + 'static,
        R: Future<Output = Response<Bytes>> + Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(answer(request))))
    }
}

/// What stands for a Service or a URL.
#[derive(Clone)]
enum Place {
    Handler(Handler),
    /// Host and port.
    Address(String, u16),
}

/// The places of webhooks that a test or the user has named.
#[derive(Default)]
pub(crate) struct Calls {
    /// By `namespace/name` of a Service, or by scheme and authority of a URL.
    places: RwLock<BTreeMap<String, Place>>,
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Calls").finish_non_exhaustive()
    }
}

impl Calls {
    /// Lets a handler answer for a Service (`namespace/name`) or for a URL without its path (`https://host:port`).
    pub(crate) fn handle(&self, of: &str, handler: Handler) {
        let of = of.trim_end_matches('/').to_owned();
        self.places.write().insert(of, Place::Handler(handler));
    }

    /// Sets the address of a Service (`namespace/name`): `host:port`.
    ///
    /// # Errors
    /// The text of the error if a part is malformed.
    pub(crate) fn set_address(&self, service: &str, address: &str) -> Result<(), String> {
        let is_service = service.split_once('/').is_some_and(|(namespace, name)| {
            !namespace.is_empty() && !name.is_empty() && !name.contains('/')
        });
        if !is_service {
            return Err(format!(
                "the service is {service:?}: write its namespace and its name, such as \"default/web\""
            ));
        }
        let wrong = || {
            format!("the address is {address:?}: write host and port, such as \"127.0.0.1:9443\"")
        };
        let (host, port) = address.rsplit_once(':').ok_or_else(wrong)?;
        let port = port.parse().map_err(|_| wrong())?;
        let host = host.trim_matches(['[', ']']);
        if host.is_empty() {
            return Err(wrong());
        }
        let place = Place::Address(host.to_owned(), port);
        self.places.write().insert(service.to_owned(), place);
        Ok(())
    }

    /// Sends a document to a webhook and returns the body of its answer.
    ///
    /// # Errors
    /// The text of client-go: nobody answers in time, the certificate is not trusted, or the answer is not a success.
    pub(crate) async fn post(
        &self,
        store: &Store,
        to: &Destination,
        document: &Value,
        timeout: Duration,
    ) -> Result<Bytes, String> {
        let query = format!("?timeout={}s", timeout.as_millis().div_ceil(1000));
        let url = to.url(&query);
        let failed = |why: &str| format!("Post {url:?}: {why}");
        let request = Request::post(format!("{}{query}", to.path))
            .header(HOST, to.base.trim_start_matches("https://"))
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, "kube-apiserver-admission")
            .body(Bytes::from(document.to_string()))
            .map_err(|error| failed(&error.to_string()))?;
        let answer = tokio::time::timeout(timeout, self.send(store, to, request)).await;
        let answer = answer.map_err(|_| failed("context deadline exceeded"))?;
        let answer = answer.map_err(|why| failed(&why))?;
        let code = answer.status().as_u16();
        let content_type = answer.headers().get(CONTENT_TYPE);
        let content_type = content_type.and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default();
        if !(200..=206).contains(&code) {
            return Err(failure::answer(code, content_type, answer.body()));
        }
        if answer.body().is_empty() {
            return Err(format!(
                "0-length response with status code: {code} and content type: {content_type}"
            ));
        }
        Ok(answer.into_body())
    }

    async fn send(
        &self,
        store: &Store,
        to: &Destination,
        request: Request<Bytes>,
    ) -> Result<Response<Bytes>, String> {
        let of = match &to.service {
            Some(service) => service.key(),
            None => to.base.clone(),
        };
        let place = self.places.read().get(&of).cloned();
        let (host, port) = match (place, &to.service) {
            (Some(Place::Handler(Handler(handler))), _) => {
                // A panic is the end of a connection for whoever asks: here it may be a task of the sandbox.
                let answer = AssertUnwindSafe(async { handler(request).await });
                let answer = answer.catch_unwind().await;
                return answer.map_err(|_| "EOF".to_owned());
            }
            (Some(Place::Address(host, port)), _) => (host, port),
            (None, Some(service)) => services::resolve(store, service, to.port)?,
            (None, None) => (to.host.clone(), to.port),
        };
        client::send((&host, port), &to.host, &to.authorities, request).await
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn to(config: Value) -> Destination {
        Destination::read(&config).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_ends_at_its_time_limit() {
        let (calls, store) = (Calls::default(), Store::new(1));
        calls.handle("shop/web", Handler::new(|_| std::future::pending()));
        let to = to(json!({"service": {"namespace": "shop", "name": "web"}}));
        let before = tokio::time::Instant::now();
        let answer = calls
            .post(&store, &to, &json!({}), Duration::from_secs(3))
            .await;
        let why = r#"Post "https://web.shop.svc:443/?timeout=3s": context deadline exceeded"#;
        assert_eq!(answer.unwrap_err(), why);
        assert_eq!(before.elapsed(), Duration::from_secs(3));
    }

    #[tokio::test]
    async fn a_service_without_endpoints_cannot_be_called() {
        let (calls, store) = (Calls::default(), Store::new(1));
        let to = to(json!({"service": {"namespace": "shop", "name": "web"}}));
        let answer = calls
            .post(&store, &to, &json!({}), Duration::from_secs(3))
            .await;
        let why = r#"Post "https://web.shop.svc:443/?timeout=3s": service "web" not found"#;
        assert_eq!(answer.unwrap_err(), why);
    }

    #[tokio::test]
    async fn a_closed_port_refuses_the_connection() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        drop(listener);
        let (calls, store) = (Calls::default(), Store::new(1));
        let to = to(json!({"url": format!("https://{address}/check")}));
        let answer = calls
            .post(&store, &to, &json!({}), Duration::from_secs(3))
            .await;
        let why = format!(
            "Post \"https://{address}/check?timeout=3s\": dial tcp {address}: connect: connection refused"
        );
        assert_eq!(answer.unwrap_err(), why);
    }

    #[test]
    fn an_address_needs_a_service_and_a_port() {
        let calls = Calls::default();
        assert!(calls.set_address("shop/web", "127.0.0.1:9443").is_ok());
        assert!(
            calls
                .set_address("web", "127.0.0.1:9443")
                .unwrap_err()
                .contains("\"default/web\"")
        );
        assert!(
            calls
                .set_address("shop/web", "127.0.0.1")
                .unwrap_err()
                .contains("127.0.0.1:9443")
        );
    }
}
