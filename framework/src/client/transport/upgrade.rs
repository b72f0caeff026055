use std::io;

use futures_util::FutureExt;
use http::{Request, Response};

use super::{ConnectProblem, connection::Connection, pool::Shared};
use crate::client::{Body, BoxError, class::Class, stack::Fence};

/// Sends `request` on an HTTP/1.1 connection of its own, dialled like any other. After 101 the answer's extensions hold what hyper needs to hand the connection over;
/// after any other answer the connection ends with its body.
pub(super) async fn send(
    pool: &Shared,
    mut request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let mut sender = match pool.dial(Class::Upgrade).await? {
        Connection::Http1(connection) => {
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
            sender
        }
        // Nothing but HTTP/1.1 was offered.
        Connection::Http2(_) => {
            let problem = ConnectProblem::Io(io::ErrorKind::Unsupported.into());
            return Err(pool.error(problem).into());
        }
    };
    if let Some(fence) = request.extensions().get::<Fence>() {
        fence.check()?;
    }
    pool.name_host(&mut request);
    let response = sender.send_request(request).await?;
    Ok(response.map(Body::new))
}
