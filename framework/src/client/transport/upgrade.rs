use std::io;

use http::{Request, Response};

use super::{
    ConnectProblem,
    connection::{Connection, Http1},
    lease::origin_form,
    pool::Shared,
};
use crate::client::{Body, BoxError, class::Class, stack::Fence};

/// Sends `request`, whose URI is absolute, on an HTTP/1.1 connection of its own, dialled like any
/// other. After 101 the answer's extensions hold what hyper needs to hand the connection over;
/// after any other answer the connection ends with its body.
pub(super) async fn send(
    pool: &Shared,
    request: Request<Body>,
) -> Result<Response<Body>, BoxError> {
    let mut sender = match pool.dial(Class::Upgrade).await? {
        Connection::Http1(Http1 { sender, .. }) => sender,
        // Nothing but HTTP/1.1 was offered.
        Connection::Http2(_) => {
            let problem = ConnectProblem::Io(io::ErrorKind::Unsupported.into());
            return Err(pool.error(problem).into());
        }
    };
    if let Some(fence) = request.extensions().get::<Fence>() {
        fence.check()?;
    }
    let response = sender.send_request(origin_form(request)).await?;
    Ok(response.map(Body::new))
}
