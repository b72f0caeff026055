use std::{future::Future, io, net::SocketAddr, time::Duration};

use futures_util::{StreamExt, stream::FuturesUnordered};
use socket2::{SockRef, TcpKeepalive};
use tokio::{net::TcpStream, time::Instant};

use crate::{client::ConnectProblem, metrics::ClientMetrics};

/// A dead peer is noticed after at most idle + interval × retries = 60 s (R7).
const IDLE: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(10);
const RETRIES: u32 = 3;
/// How long sent data may stay unacknowledged.
#[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// How long one address is tried before the next one is tried beside it (RFC 8305, 8).
const STAGGER: Duration = Duration::from_millis(250);

/// Opens a TCP connection that notices when the other side is gone. `host` is without brackets.
pub(super) async fn connect(
    host: &str,
    port: u16,
    metrics: Option<&ClientMetrics>,
) -> Result<TcpStream, ConnectProblem> {
    let start = Instant::now();
    let addresses = tokio::net::lookup_host((host, port))
        .await
        .map_err(ConnectProblem::UnknownHost)?
        .collect();
    if let Some(metrics) = metrics {
        metrics.dns_resolution(host, start.elapsed());
    }
    let stream = race(interleaved(addresses), TcpStream::connect).await;
    let stream = stream.map_err(of_attempts)?;
    watch_over(&stream).map_err(ConnectProblem::Io)?;
    Ok(stream)
}

fn of_attempts(attempts: Vec<(SocketAddr, io::Error)>) -> ConnectProblem {
    let refused = |(_, error): &(_, io::Error)| error.kind() == io::ErrorKind::ConnectionRefused;
    if attempts.is_empty() {
        ConnectProblem::UnknownHost(io::Error::other("the look-up gave no address"))
    } else if attempts.iter().all(refused) {
        ConnectProblem::Refused
    } else {
        ConnectProblem::Unreachable(attempts)
    }
}

/// The addresses, with the two families in turns. The family that the system prefers comes first.
fn interleaved(addresses: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let is_ipv6 = addresses.first().is_some_and(SocketAddr::is_ipv6);
    let (mut own, mut other): (Vec<_>, Vec<_>) = addresses
        .into_iter()
        .partition(|address| address.is_ipv6() == is_ipv6);
    own.reverse();
    other.reverse();
    let mut order = Vec::with_capacity(own.len() + other.len());
    while !(own.is_empty() && other.is_empty()) {
        order.extend(own.pop());
        order.extend(other.pop());
    }
    order
}

/// Returns the first connection that succeeds ("happy eyeballs", RFC 8305). Tries each address when the one before has
/// failed, or has not answered for a while. Drops connections that come too late. If all fail, returns each error, in
/// the order of the failures.
async fn race<T, F: Future<Output = io::Result<T>>>(
    addresses: Vec<SocketAddr>,
    connect: impl Fn(SocketAddr) -> F,
) -> Result<T, Vec<(SocketAddr, io::Error)>> {
    let mut waiting = addresses.into_iter();
    let mut attempts = FuturesUnordered::new();
    let mut failed = Vec::new();
    loop {
        if let Some(address) = waiting.next() {
            let attempt = connect(address);
            attempts.push(async move { attempt.await.map_err(|error| (address, error)) });
        }
        let is_last = waiting.as_slice().is_empty();
        tokio::select! {
            outcome = attempts.next() => match outcome {
                Some(Ok(connection)) => return Ok(connection),
                Some(Err(error)) => failed.push(error),
                None => return Err(failed),
            },
            // An attempt continues while the next one runs.
            () = tokio::time::sleep(STAGGER), if !is_last => {}
        }
    }
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

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use tokio::{net::TcpListener, time::Instant};

    use super::*;

    fn addresses(list: &[&str]) -> Vec<SocketAddr> {
        list.iter().map(|one| one.parse().unwrap()).collect()
    }

    #[test]
    fn the_families_of_addresses_take_turns() {
        let order = interleaved(addresses(&[
            "[fd00::1]:1",
            "[fd00::2]:1",
            "[fd00::3]:1",
            "10.0.0.1:1",
        ]));
        let expected = ["[fd00::1]:1", "10.0.0.1:1", "[fd00::2]:1", "[fd00::3]:1"];
        assert_eq!(order, addresses(&expected));
        assert_eq!(interleaved(Vec::new()), []);
    }

    /// Runs a race of the addresses 10.0.0.1, …. Each connects or fails after the milliseconds in `plan`, or never
    /// answers. Also returns when each address was tried.
    async fn run(plan: &[Option<(u64, bool)>]) -> (Option<u64>, Vec<u128>) {
        let start = Instant::now();
        let tried = Mutex::new(Vec::new());
        let all = (1..=plan.len()).map(|n| format!("10.0.0.{n}:{n}").parse().unwrap());
        let connect = |address: SocketAddr| {
            tried.lock().push(start.elapsed().as_millis());
            let (n, step) = (address.port(), plan[usize::from(address.port()) - 1]);
            async move {
                let Some((after, connects)) = step else {
                    return std::future::pending().await;
                };
                tokio::time::sleep(Duration::from_millis(after)).await;
                connects
                    .then_some(u64::from(n))
                    .ok_or(io::ErrorKind::TimedOut.into())
            }
        };
        let race = tokio::time::timeout(Duration::from_secs(10), race(all.collect(), connect));
        let winner = race.await.ok().and_then(Result::ok);
        let tried = tried.lock().clone();
        (winner, tried)
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_address_that_connects_wins() {
        let table = [
            // The first address connects before the others are tried.
            (&[Some((200, true)), None][..], Some(1), &[0][..]),
            // A silent address does not delay the next one …
            (&[None, Some((10, true))], Some(2), &[0, 250]),
            // … and may still win.
            (&[Some((300, true)), None], Some(1), &[0, 250]),
            // After a failure the next address is tried at once.
            (&[Some((5, false)), Some((5, true))], Some(2), &[0, 5]),
            (
                &[None, Some((5, false)), Some((5, true))],
                Some(3),
                &[0, 250, 255],
            ),
            // The race waits for an address that fails last.
            (&[Some((9000, true)), Some((1, false))], Some(1), &[0, 250]),
            (&[Some((1, false)), Some((1, false))], None, &[0, 1]),
            (&[], None, &[]),
        ];
        for (plan, winner, tried) in table {
            assert_eq!(run(plan).await, (winner, tried.to_vec()), "{plan:?}");
        }
    }

    #[tokio::test]
    async fn an_address_where_nothing_listens_does_not_hide_one_where_something_does() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let there = listener.local_addr().unwrap();
        // Bound, so that no other program gets the port, but not listening.
        let silent = tokio::net::TcpSocket::new_v4().unwrap();
        silent.bind(addresses(&["127.0.0.1:0"])[0]).unwrap();
        let gone = silent.local_addr().unwrap();
        let stream = race(vec![gone, there], TcpStream::connect).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), there);
        let failed = race(vec![gone, gone], TcpStream::connect).await;
        let failed = failed.unwrap_err();
        assert_eq!(failed.len(), 2, "each is told");
        assert!(matches!(of_attempts(failed), ConnectProblem::Refused));
    }

    #[test]
    fn the_error_names_the_failure_of_each_address() {
        let [one, two] = addresses(&["10.0.0.1:443", "[fd00::1]:443"])[..] else {
            unreachable!()
        };
        let problem = of_attempts(vec![
            (one, io::ErrorKind::ConnectionRefused.into()),
            (two, io::ErrorKind::NetworkUnreachable.into()),
        ]);
        assert_eq!(
            problem.to_string(),
            "10.0.0.1:443: connection refused; [fd00::1]:443: network unreachable; check the address, and the network between here and there"
        );
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_socket_options_detect_a_dead_peer_within_a_minute() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = connect("127.0.0.1", port, None).await.unwrap();
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && stream.nodelay().unwrap());
        let idle = socket.tcp_keepalive_time().unwrap();
        let interval = socket.tcp_keepalive_interval().unwrap();
        let retries = socket.tcp_keepalive_retries().unwrap();
        assert!(idle + interval * retries <= Duration::from_secs(60));
        let unacknowledged = socket.tcp_user_timeout().unwrap().unwrap();
        assert!(unacknowledged <= Duration::from_secs(60));
    }
}
