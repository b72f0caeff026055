use std::io;

use futures_util::FutureExt;
use http::{Request, Response};

use super::{connection::Connection, fenced_io::FencedRequest, pool::PoolInner};
use crate::client::{Body, BoxError, ConnectProblem, request::RequestClass};

/// Sends `request` on an HTTP/1.1 connection of its own. After 101, the extensions of the answer hold what hyper needs
/// to return the connection. After any other answer, the connection ends with the body.
pub(super) async fn send(
    pool: &PoolInner,
    mut request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let (mut sender, fences) = match pool.dial(RequestClass::Upgrade).await? {
        Connection::Http1(connection) => {
            let fences = connection.fences.clone();
            let (sender, driver) = connection.into_parts();
            if let Some(driver) = driver {
                // The caller may read nothing for a long time, and the connection no longer speaks HTTP.
                let driven = async move {
                    if let Err(error) = driver.with_upgrades().await {
                        tracing::debug!(%error, "an HTTP/1.1 connection to the API server ended");
                    }
                };
                pool.tasks.spawn(driven.boxed());
            }
            (sender, fences)
        }
        // The dialer offered only HTTP/1.1.
        Connection::Http2(_) => {
            let problem = ConnectProblem::Io(io::ErrorKind::Unsupported.into());
            return Err(pool.error(problem).into());
        }
    };
    let passing = fences.enter(&request)?;
    pool.name_host(&mut request);
    let response = sender.send_request(request).await;
    passing.into_iter().for_each(FencedRequest::done);
    let response = response?;
    Ok(response.map(Body::new))
}
