use bytes::Bytes;
use futures_core::Stream;
use http::Request;
use serde::de::DeserializeOwned;

use super::{Client, response::collect};
use crate::client::{
    Body, Encoding, Error, ErrorKind, codec::Frames, decode::decode_plain, request::RequestClass,
};

/// Requests for which no verb exists. The caller gives the whole path and query, escaped.
impl Client {
    /// Sends a request and decodes the answer as JSON. An error answer of the server is an error.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Body, Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use http::Request;
    /// use serde_json::{Value, json};
    ///
    /// let version: Value = client.request(Request::get("/version").body(Body::empty())?).await?;
    ///
    /// let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
    ///     "spec": {"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}}});
    /// let request = Request::post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
    ///     .header("content-type", "application/json")
    ///     .body(serde_json::to_vec(&review)?.into())?;
    /// let answer: Value = client.request(request).await?;
    /// # let _ = (version, answer); Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As for typed requests. The target of the error is method and path.
    pub async fn request<T: DeserializeOwned>(&self, request: Request<Body>) -> Result<T, Error> {
        let target = target(&request);
        let answer = self.whole(request).await?;
        decode_plain(&answer)
            .map_err(|reason| Error::new(VERB, target, ErrorKind::Decode { reason }))
    }

    /// Sends a request and reads the answer as text, such as metrics.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Body, Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let request = http::Request::get("/readyz?verbose").body(Body::empty())?;
    /// println!("{}", client.request_text(request).await?);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`request`](Self::request), and [`ErrorKind::Decode`] if the answer is not UTF-8.
    pub async fn request_text(&self, request: Request<Body>) -> Result<String, Error> {
        let target = target(&request);
        let answer = self.whole(request).await?;
        String::from_utf8(answer.into()).map_err(|_| {
            Error::new(
                VERB,
                target,
                ErrorKind::Decode {
                    reason: "not UTF-8".into(),
                },
            )
        })
    }

    /// Sends a request and returns the answer line by line as it comes, without line ends and blank lines.
    ///
    /// ```no_run
    /// # use pilothouse::client::{Body, Client};
    /// # async fn example(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// use futures_util::TryStreamExt;
    ///
    /// let path = "/api/v1/namespaces/default/pods/web-0/log?follow=true";
    /// let mut lines = client.request_lines(http::Request::get(path).body(Body::empty())?).await?;
    /// while let Some(line) = lines.try_next().await? {
    ///     println!("{}", String::from_utf8_lossy(&line));
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// As [`request`](Self::request). If the connection breaks, this is the last item.
    pub async fn request_lines(
        &self,
        request: Request<Body>,
    ) -> Result<impl Stream<Item = Result<Bytes, Error>> + Send + Unpin + use<>, Error> {
        let target = target(&request);
        let mut request = request;
        request.extensions_mut().insert(RequestClass::Watch);
        let response = self.answered(VERB, || target.clone(), request).await?;
        let begin = (
            Some(Frames::new(Encoding::Json, response.into_body())),
            target,
        );
        let lines = futures_util::stream::unfold(begin, |(lines, target)| async move {
            let mut lines = lines?;
            match std::future::poll_fn(|cx| lines.poll_frame(cx)).await? {
                Ok(line) => Some((Ok(line), (Some(lines), target))),
                Err(source) => {
                    let error = Error::new(VERB, target.clone(), ErrorKind::Transport(source));
                    Some((Err(error), (None, target)))
                }
            }
        });
        Ok(Box::pin(lines))
    }

    async fn whole(&self, mut request: Request<Body>) -> Result<Bytes, Error> {
        let target = target(&request);
        request.extensions_mut().insert(RequestClass::Request);
        let target = || target.clone();
        let response = self.answered(VERB, target, request).await?;
        collect(VERB, target, response).await
    }
}

const VERB: &str = "send";

fn target(request: &Request<Body>) -> String {
    format!("{} {}", request.method(), request.uri().path())
}
