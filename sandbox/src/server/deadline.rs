use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::query::Query;
use super::route::{ResourceRoute, Route};
use crate::error::ApiError;
use crate::go;

/// The longest time for a request: the default of kube-apiserver's flag `--request-timeout`.
const LONGEST: Duration = Duration::from_secs(60);
/// The longest time for a request that writes one object.
const LONGEST_WRITE: Duration = Duration::from_secs(34);

/// How long the server works on a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limit {
    time: Duration,
    /// What the answer says when the time is over.
    why: &'static str,
}

impl Limit {
    /// The limit of a request, by its parameter `timeout`. Returns `None` for requests that last long, such as watches.
    ///
    /// # Errors
    /// 400 if the parameter is not a duration.
    pub(super) fn of(route: &Route, query: &Query) -> Result<Option<Self>, ApiError> {
        if is_long_running(route) {
            return Ok(None);
        }
        let asked = match query.get("timeout") {
            "" => Duration::ZERO,
            text => go::duration(text).map_err(|why| {
                ApiError::bad_request(format!(
                    "invalid timeout specified in the request URL - {why}"
                ))
            })?,
        };
        let allotted = match asked.is_zero() {
            true => LONGEST,
            false => asked.min(LONGEST),
        };
        let writes_one = matches!(route, Route::Resource(route) if WRITES.contains(&route.verb));
        Ok(Some(match writes_one && LONGEST_WRITE < allotted {
            true => Self {
                time: LONGEST_WRITE,
                why: "request did not complete within requested timeout - context deadline exceeded",
            },
            false => Self {
                time: allotted,
                why: "request did not complete within the allotted timeout",
            },
        }))
    }

    /// When a request that begins now must have ended.
    pub(super) fn deadline(self) -> Instant {
        Instant::now() + self.time
    }

    /// Waits for the answer to a request. At the deadline the work on it ends.
    ///
    /// # Errors
    /// 504 if there is no answer at the deadline; the error of the answer.
    pub(super) async fn until<T>(
        self,
        deadline: Instant,
        answer: impl Future<Output = Result<T, ApiError>>,
    ) -> Result<T, ApiError> {
        let late = || Err(ApiError::timeout(self.why));
        let (mut answer, mut end) = (pin!(answer), pin!(sleep_until(deadline)));
        poll_fn(|cx| {
            // First, because a webhook that is asked until then fails at the same time: the request must not go on without it.
            if Instant::now() >= deadline {
                return Poll::Ready(late());
            }
            if let Poll::Ready(answer) = answer.as_mut().poll(cx) {
                return Poll::Ready(answer);
            }
            end.as_mut().poll(cx).map(|()| late())
        })
        .await
    }
}

/// A deletion of a collection is not among them, because it may take longer.
const WRITES: [&str; 4] = ["create", "update", "patch", "delete"];

/// Whether a request lasts: a watch, and what a kubelet answers.
pub(super) fn is_long_running(route: &Route) -> bool {
    let Route::Resource(ResourceRoute {
        verb, subresource, ..
    }) = route
    else {
        return false;
    };
    const LONG: [&str; 5] = ["attach", "exec", "log", "portforward", "proxy"];
    *verb == "watch"
        || subresource
            .as_deref()
            .is_some_and(|one| LONG.contains(&one))
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::super::route::route;
    use super::*;

    fn limit(method: Method, path: &str, query: &str) -> Option<u64> {
        let query = Query::parse(query);
        let limit = Limit::of(&route(&method, path, &query), &query).unwrap();
        limit.map(|limit| limit.time.as_secs())
    }

    #[test]
    fn each_request_has_the_limit_of_a_real_server() {
        let (pods, pod) = ("/api/v1/namespaces/a/pods", "/api/v1/namespaces/a/pods/b");
        for (method, path, query, expected) in [
            (Method::GET, pods, "", Some(60)),
            (Method::GET, "/version", "timeout=32s", Some(32)),
            (Method::GET, pods, "timeout=5m", Some(60)),
            (Method::GET, pods, "timeout=0s", Some(60)),
            (Method::GET, pods, "timeout=-3s", Some(60)),
            (Method::GET, pods, "watch=1&timeout=5s", None),
            (Method::POST, pods, "", Some(34)),
            (Method::PATCH, pod, "timeout=50s", Some(34)),
            (Method::PUT, pod, "timeout=7s", Some(7)),
            (Method::DELETE, pod, "", Some(34)),
            (Method::DELETE, pods, "", Some(60)),
            (Method::GET, "/api/v1/namespaces/a/pods/b/log", "", None),
            (Method::POST, "/api/v1/namespaces/a/pods/b/exec", "", None),
        ] {
            let found = limit(method, path, query);
            assert_eq!(found, expected, "{path}?{query}");
        }
    }
}
