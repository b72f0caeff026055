use std::{io, time::Duration};

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

use super::ConnectProblem;

/// A dead peer is noticed after at most idle + interval × retries = 60 s (design promise R7).
const IDLE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(10);
const RETRIES: u32 = 3;
/// How long sent data may stay unacknowledged.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// A TCP connection that notices when the other side is gone.
pub(super) async fn connect(host: &str, port: u16) -> Result<TcpStream, ConnectProblem> {
    // Brackets belong to the URL, not to the address.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<_> = tokio::net::lookup_host((host, port))
        .await
        .map_err(ConnectProblem::UnknownHost)?
        .collect();
    let mut last = None;
    for address in addresses {
        match TcpStream::connect(address).await {
            Ok(stream) => {
                watch_over(&stream).map_err(ConnectProblem::Io)?;
                return Ok(stream);
            }
            Err(error) => last = Some(error),
        }
    }
    Err(match last {
        Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => ConnectProblem::Refused,
        Some(error) => ConnectProblem::Io(error),
        None => ConnectProblem::UnknownHost(io::Error::other("the look-up gave no address")),
    })
}

fn watch_over(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keep_alive = TcpKeepalive::new().with_time(IDLE).with_interval(INTERVAL);
    #[cfg(not(target_os = "windows"))]
    let keep_alive = keep_alive.with_retries(RETRIES);
    socket.set_tcp_keepalive(&keep_alive)?;
    #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED))?;
    Ok(())
}
