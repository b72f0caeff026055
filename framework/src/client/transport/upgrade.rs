use std::io;

use futures_util::FutureExt;
use http::{Request, Response};

use super::{ConnectProblem, connection::Connection, fenced_io::Passing, pool::Shared};
use crate::client::{Body, BoxError, class::Class};

/// Sends `request` on an HTTP/1.1 connection of its own, dialled like any other. After 101 the answer's extensions hold what hyper needs to hand the connection over;
/// after any other answer the connection ends with its body.
pub(super) async fn send(
    pool: &Shared,
    mut request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let (mut sender, fences) = match pool.dial(Class::Upgrade).await? {
        Connection::Http1(connection) => {
            let fences = connection.fences.clone();
            let (sender, driver) = connection.into_parts();
            if let Some(driver) = driver {
                // Nobody may read what comes for a long while, and what is upgraded is not HTTP any more.
                let driven = async move {
                    if let Err(error) = driver.with_upgrades().await {
                        tracing::debug!(%error, "an HTTP/1.1 connection to the API server ended");
                    }
                };
                pool.tasks.spawn(driven.boxed());
            }
            (sender, fences)
        }
        // Nothing but HTTP/1.1 was offered.
        Connection::Http2(_) => {
            let problem = ConnectProblem::Io(io::ErrorKind::Unsupported.into());
            return Err(pool.error(problem).into());
        }
    };
    let passing = fences.enter(&request)?;
    pool.name_host(&mut request);
    let response = sender.send_request(request).await;
    passing.into_iter().for_each(Passing::done);
    let response = response?;
    Ok(response.map(Body::new))
}
