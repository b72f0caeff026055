use std::{fmt, future::Future, sync::Arc};

use bytes::Bytes;
use futures_util::FutureExt;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, LengthLimitError};
use tower::Service;

use super::Setup;
use crate::{
    client::{Body, BoxError},
    controller::Result,
    server::{Reply, Routes},
};

/// Builds the routes at a path, when the operator starts.
type Build = Box<dyn FnOnce(&str, Setup) -> Routes + Send>;

/// Responds to requests at a path of the program's own, beside `/metrics` and `/readyz`, see
/// [`Operator::route`](super::Operator::route).
///
/// With `--metrics-auth`, a request needs a user that the API server allows to use the path, as for `/metrics`: the verb is
/// the method in lower case, such as `post`, and the non-resource URL is the path. [`open`](Self::open) lets every request
/// pass, for senders that authenticate in another way.
///
/// The limits of the listener hold ([`server`](crate::server)), so that a slow route does not keep `/livez` from responding: a
/// response takes at most 25 s, a request body is at most 1 MiB, and at most 64 responses run at once. A route must not
/// block its thread.
pub struct Route {
    pub(super) is_open: bool,
    build: Build,
}

impl Route {
    /// A route that calls `respond` for each request, of any method. The body of the request is read before. An error
    /// becomes status 500 without its text, and a line of the log. A panic does the same.
    ///
    /// ```
    /// use pilothouse::{operator::Route, prelude::*, server::Reply};
    ///
    /// let operator = Operator::new("website").route(
    ///     "/version",
    ///     Route::new(|setup, _request| async move {
    ///         let version = setup.client().server_version().await?;
    ///         Ok(Reply::new(version.git_version.into()))
    ///     }),
    /// );
    /// # drop(operator);
    /// ```
    pub fn new<H, F>(respond: H) -> Self
    where
        H: Fn(Setup, Request<Bytes>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Reply>> + Send + 'static,
    {
        let respond = Arc::new(respond);
        Self::service(move |setup| {
            tower::service_fn(move |request: Request<Body>| {
                let (respond, setup) = (respond.clone(), setup.clone());
                let responded = async move {
                    let (head, body) = request.into_parts();
                    let body = match body.collect().await {
                        Ok(body) => body.to_bytes(),
                        Err(error) => return Ok(unreadable(&error)),
                    };
                    let request = Request::from_parts(head, body);
                    let reply = respond(setup, request).await;
                    reply.map_err(|failure| BoxError::from(failure.to_string()))
                };
                responded.boxed()
            })
        })
    }

    /// A route that a tower service responds to, such as the router of another crate. `build` is called when the operator
    /// starts. If the path of the route ends with `/`, the service also gets the requests for all paths below it. It sees the
    /// whole path.
    pub fn service<S, B>(build: impl FnOnce(Setup) -> S + Send + 'static) -> Self
    where
        S: Service<Request<Body>, Response = Response<B>> + Clone + Send + Sync + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self {
            is_open: false,
            build: Box::new(move |path, setup| Routes::new().service(path, build(setup))),
        }
    }

    /// Lets every request pass, also with `--metrics-auth`.
    #[must_use]
    pub fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// The route at `path`.
    pub(super) fn at(self, path: &str, setup: Setup) -> Routes {
        (self.build)(path, setup)
    }
}

impl fmt::Debug for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Route")
            .field("is_open", &self.is_open)
            .finish_non_exhaustive()
    }
}

/// The response to a request whose body could not be read.
fn unreadable(error: &BoxError) -> Reply {
    let (status, text) = match error.is::<LengthLimitError>() {
        true => (
            StatusCode::PAYLOAD_TOO_LARGE,
            "the body of the request is larger than 1 MiB\n",
        ),
        false => (
            StatusCode::BAD_REQUEST,
            "the body of the request could not be read\n",
        ),
    };
    let mut reply = Reply::new(text.into());
    *reply.status_mut() = status;
    reply
}

/// The paths that the framework serves, and everything below them.
pub(super) const FRAMEWORK_PATHS: [&str; 5] =
    ["/metrics", "/healthz", "/livez", "/readyz", "/debug"];

/// Checks the path of a route. The error says what is wrong with it.
pub(super) fn check_path(path: &str) -> std::result::Result<(), String> {
    if !path.starts_with('/') {
        return Err(format!("a path begins with `/`: write `/{path}`"));
    }
    if path.contains(['{', '}', '*']) {
        return Err(
            "a path is a fixed text: end it with `/` to serve every path below it, and give it \
             `Route::service` with a router if it has parameters"
                .into(),
        );
    }
    let is_allowed =
        |letter: char| letter.is_ascii_alphanumeric() || "/-._~%!$&'()+,;=:@".contains(letter);
    if let Some(letter) = path.chars().find(|letter| !is_allowed(*letter)) {
        return Err(format!(
            "the path of a URL does not contain `{}`: percent-encode it, or choose another path",
            letter.escape_default()
        ));
    }
    if path.contains("//") || path.split('/').any(|part| part == "." || part == "..") {
        return Err("clients remove empty parts, `.` and `..` from a path: leave them out".into());
    }
    let of_framework = FRAMEWORK_PATHS.iter().find(|own| {
        let rest = path.strip_prefix(**own);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    match of_framework {
        Some(own) => Err(format!("the framework serves {own}: choose another path")),
        None => Ok(()),
    }
}

/// Sorts routes so that the first one that matches a path is the most specific one.
pub(super) fn most_specific_first(routes: &mut [(String, Route)]) {
    routes.sort_by_key(|(path, _)| {
        let below = path.ends_with('/');
        (below, std::cmp::Reverse(path.len()))
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_cannot_be_served_is_refused_with_what_to_do() {
        for path in ["/hooks", "/hooks/", "/", "/metricsx", "/a.b/c%20d"] {
            assert_eq!(check_path(path), Ok(()), "{path}");
        }
        for (path, expected) in [
            ("", "write `/`"),
            ("hooks", "write `/hooks`"),
            ("/metrics", "the framework serves /metrics"),
            ("/metrics/", "the framework serves /metrics"),
            ("/readyz/database", "the framework serves /readyz"),
            ("/debug", "the framework serves /debug"),
            ("/sites/{name}", "`Route::service` with a router"),
            ("/sites?x", "does not contain `?`"),
            ("/a b", "does not contain ` `"),
            ("/ü", "does not contain `\\u{fc}`"),
            ("//a", "leave them out"),
            ("/a/../livez", "leave them out"),
        ] {
            let error = check_path(path).unwrap_err();
            assert!(error.contains(expected), "{path}: {error}");
        }
    }
}
